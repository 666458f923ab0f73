// Samples for one key that are ready to run: each client with its form of the address (with or without /v1) and the key in the environment, never in code.
// docs/clients.md describes the same clients; tests/console/samples.test.ts runs what is here. Pure.

/** A block of code to copy. */
interface SampleBlock {
  /** The name of the file, or undefined for a shell command. */
  readonly file: string | undefined;
  readonly code: string;
}

/** The configuration of one client. */
export interface Sample {
  readonly id: SampleId;
  /** The client's own name, the same in every language. */
  readonly title: string;
  readonly blocks: readonly SampleBlock[];
}

/** The clients that have a sample, in the order in which they are shown. */
export const sampleIds = [
  'curl',
  'openai-js',
  'openai-python',
  'anthropic-js',
  'anthropic-python',
  'vercel-ai',
  'claude-code',
  'env',
] as const;
export type SampleId = (typeof sampleIds)[number];

/** The values that the samples contain. */
export interface SampleOptions {
  /** The address of this gateway as seen from the user's machine, without /v1 and without a trailing slash. */
  readonly baseAddress: string;
  readonly secret: string;
  /** A catalog id that the key may call. */
  readonly model: string;
}

/** The name of the environment variable for the key in the samples. */
export const keyVariable = 'TOLLGATE_API_KEY';

/** All samples, in the order of `sampleIds`. */
export function samplesFor(options: SampleOptions): Sample[] {
  return sampleIds.map((id) => ({ id, ...makers[id](options) }));
}

type Maker = (options: SampleOptions) => Omit<Sample, 'id'>;

const makers: Readonly<Record<SampleId, Maker>> = {
  curl: ({ baseAddress, secret, model }) => ({
    title: 'curl',
    blocks: [
      shell(`${exported(keyVariable, secret)}
curl ${quoted(`${baseAddress}/v1/chat/completions`)} \\
  -H "Authorization: Bearer $${keyVariable}" \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }))}`),
    ],
  }),

  'openai-js': ({ baseAddress, secret, model }) => ({
    title: 'OpenAI JS',
    blocks: [
      shell(`${exported(keyVariable, secret)}\nnpm install openai\nnode hello.mjs`),
      {
        file: 'hello.mjs',
        code: `import OpenAI from 'openai';

const openai = new OpenAI({ baseURL: ${text(`${baseAddress}/v1`)}, apiKey: process.env.${keyVariable} });
const completion = await openai.chat.completions.create({
  model: ${text(model)},
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(completion.choices[0].message.content);`,
      },
    ],
  }),

  'openai-python': ({ baseAddress, secret, model }) => ({
    title: 'OpenAI Python',
    blocks: [
      shell(`${exported(keyVariable, secret)}\npip install openai\npython hello.py`),
      {
        file: 'hello.py',
        code: `import os
from openai import OpenAI

client = OpenAI(base_url=${text(`${baseAddress}/v1`)}, api_key=os.environ["${keyVariable}"])
completion = client.chat.completions.create(
    model=${text(model)},
    messages=[{"role": "user", "content": "Hello"}],
)
print(completion.choices[0].message.content)`,
      },
    ],
  }),

  'anthropic-js': ({ baseAddress, secret, model }) => ({
    title: 'Anthropic JS',
    blocks: [
      shell(`${exported(keyVariable, secret)}\nnpm install @anthropic-ai/sdk\nnode hello.mjs`),
      {
        file: 'hello.mjs',
        code: `import Anthropic from '@anthropic-ai/sdk';

const anthropic = new Anthropic({ baseURL: ${text(baseAddress)}, apiKey: process.env.${keyVariable} });
const message = await anthropic.messages.create({
  model: ${text(model)},
  max_tokens: 300,
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(message.content[0].text);`,
      },
    ],
  }),

  'anthropic-python': ({ baseAddress, secret, model }) => ({
    title: 'Anthropic Python',
    blocks: [
      shell(`${exported(keyVariable, secret)}\npip install anthropic\npython hello.py`),
      {
        file: 'hello.py',
        code: `import os
from anthropic import Anthropic

client = Anthropic(base_url=${text(baseAddress)}, api_key=os.environ["${keyVariable}"])
message = client.messages.create(
    model=${text(model)},
    max_tokens=300,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`,
      },
    ],
  }),

  'vercel-ai': ({ baseAddress, secret, model }) => ({
    title: 'Vercel AI SDK',
    blocks: [
      shell(`${exported(keyVariable, secret)}\nnpm install ai @ai-sdk/openai-compatible\nnode hello.mjs`),
      {
        file: 'hello.mjs',
        code: `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';

const tollgate = createOpenAICompatible({
  name: 'tollgate',
  baseURL: ${text(`${baseAddress}/v1`)},
  apiKey: process.env.${keyVariable},
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const answer = await generateText({ model: tollgate(${text(model)}), prompt: 'Hello' });
console.log(answer.text);`,
      },
    ],
  }),

  // A bearer token, since the key of ANTHROPIC_API_KEY has to be approved in a dialog first.
  'claude-code': ({ baseAddress, secret, model }) => ({
    title: 'Claude Code',
    blocks: [
      shell(`${exported('ANTHROPIC_BASE_URL', baseAddress)}
${exported('ANTHROPIC_AUTH_TOKEN', secret)}
${exported('ANTHROPIC_MODEL', model)}
claude`),
    ],
  }),

  // The variables that the libraries read by default.
  env: ({ baseAddress, secret }) => ({
    title: '.env',
    blocks: [
      {
        file: '.env',
        code: `${keyVariable}=${secret}

OPENAI_BASE_URL=${baseAddress}/v1
OPENAI_API_KEY=${secret}

ANTHROPIC_BASE_URL=${baseAddress}
ANTHROPIC_API_KEY=${secret}`,
      },
    ],
  }),
};

function shell(code: string): SampleBlock {
  return { file: undefined, code };
}

function exported(name: string, value: string): string {
  return `export ${name}=${quoted(value)}`;
}

/** Quotes a text as one word of a shell. */
function quoted(value: string): string {
  return /^[\w./:@%+=,-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

/** Quotes a text as a literal of JavaScript and Python. */
function text(value: string): string {
  return JSON.stringify(value);
}
