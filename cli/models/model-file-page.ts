// docs/model-files.md, made from the fields of a model file and the words of the catalog's contract. Pure.
import { Capability, Modality, ModelState, Tokenizer } from '#proto/catalog/v1/catalog.js';
import type { Words } from '../options/parse.js';
import { ModelFile } from './model-file.js';
import { modelWords } from '../views/model.js';

/** The meaning of each word; one that is missing does not compile. */
const meanings = {
  modality: {
    [Modality.MODALITY_TEXT]: 'Text.',
    [Modality.MODALITY_IMAGE]: 'Images in messages and tool results.',
    [Modality.MODALITY_DOCUMENT]: 'Documents such as PDFs.',
    [Modality.MODALITY_AUDIO]: 'Audio in messages; only upstreams of the chat-completions format receive it.',
    [Modality.MODALITY_EMBEDDING]:
      'Vectors of texts: the model is called with `POST /v1/embeddings` only. An output modality, which cannot be combined with others.',
  },
  capability: {
    [Capability.CAPABILITY_TOOLS]: 'Calls tools. Shown in the catalog; the upstream decides.',
    [Capability.CAPABILITY_REASONING]: 'Reasons before it answers. Shown in the catalog; the upstream decides.',
    [Capability.CAPABILITY_STRUCTURED_OUTPUT]: 'Follows a JSON schema. Requests with a schema are refused for models without it.',
    [Capability.CAPABILITY_PROMPT_CACHE]:
      'Reads the beginning of a prompt from a cache, at the price of cached input. Shown in the catalog.',
    [Capability.CAPABILITY_SAMPLING]: 'Accepts `temperature`, `top_p` and similar parameters. Shown in the catalog; the upstream decides.',
  },
  tokenizer: {
    [Tokenizer.TOKENIZER_SANDBOX]: 'The exact rule of the sandbox.',
    [Tokenizer.TOKENIZER_O200K]: "OpenAI's o200k_base; an estimate for the models of other vendors.",
    [Tokenizer.TOKENIZER_ANTHROPIC]: "The vendor's own count, where its upstream offers one; otherwise an estimate.",
  },
  state: {
    [ModelState.MODEL_STATE_ACTIVE]: 'It can be called.',
    [ModelState.MODEL_STATE_DEPRECATED]: 'It can be called; the catalog says that it will be retired.',
    [ModelState.MODEL_STATE_RETIRED]: 'Calls are refused, and it is not listed. Its records and prices are kept.',
  },
} satisfies { [Name in keyof typeof modelWords]: Meanings<(typeof modelWords)[Name]> };

type Meanings<W> = W extends Words<infer E> ? Omit<Record<E, string>, 0 | -1> : never;

const head = `# Model files

\`tollgate model put\` reads a model from a JSON file, \`tollgate model show --json\` writes one, and \`tollgate model export\` and \`import\` do the same for the
whole catalog. [Your own model server](own-server.md) shows how to add models without a file. Unknown fields are rejected.

\`\`\`json
{
  "id": "acme/large",
  "display_name": "Large",
  "context_limit_tokens": 131072,
  "output_limit_tokens": 16384,
  "capabilities": ["tools", "sampling"],
  "targets": [{ "upstream_id": "acme", "upstream_model": "large-v2" }]
}
\`\`\`
`;

/** Returns the page as Markdown. */
export function modelFilePage(): string {
  const { targets, ...fields } = ModelFile.properties;
  const all = { ...fields, targets };
  return [
    head,
    `## Fields\n\n${fieldTable(all)}`,
    `## Targets\n\n${fieldTable(targets.items.properties)}`,
    ...sections.map(([title, name]) => `## ${title}\n\n${wordTable(name)}`),
  ].join('\n');
}

const sections = [
  ['Modalities', 'modality'],
  ['Capabilities', 'capability'],
  ['Tokenizers', 'tokenizer'],
  ['States', 'state'],
] as const;

function fieldTable(fields: Readonly<Record<string, object>>): string {
  const rows = Object.entries(fields).map(([name, field]) => {
    const { description = '' } = field as { description?: string };
    return `| \`${name}\` | ${'~optional' in field ? '' : 'yes'} | ${description} |`;
  });
  return `| Field | Required | |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function wordTable(name: keyof typeof modelWords): string {
  const words: Words<number> = modelWords[name];
  const rows = Object.entries(meanings[name]).map(([value, meaning]) => `| \`${words.of(Number(value))}\` | ${meaning} |`);
  return `| Word | |\n|---|---|\n${rows.join('\n')}\n`;
}
