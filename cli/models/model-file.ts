// Parses a model from JSON in the format that `tollgate model show --json` writes. Pure.
import { type Static, Type } from 'typebox';
import { Errors } from 'typebox/value';
import { nearMatch } from '#kit/config/settings.js';
import { Model } from '#proto/catalog/v1/catalog.js';
import { CliError } from '../errors.js';
import type { Words } from '../options/parse.js';
import { modelWords } from '../views/model.js';

const strict = { additionalProperties: false };
const words = Type.Array(Type.String());
const TargetFields = Type.Object(
  {
    upstream_id: Type.String({ minLength: 1, description: 'The upstream, as in `tollgate upstream list`.' }),
    upstream_model: Type.String({ minLength: 1, description: "The upstream's name for the model." }),
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Targets with a lower number are used first. 0 to 100. Absent: the position in the list, from 0.',
      }),
    ),
    weight: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The share of calls among the targets of its priority. 1 to 1000. Absent: 1.' }),
    ),
  },
  strict,
);

/** The fields of a model file; docs/model-files.md is made from their descriptions. */
export const ModelFile = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      description:
        'What clients send as `model`: at most 128 characters, only a-z, 0-9 and `. _ : / -`, beginning with a letter or a digit.',
    }),
    display_name: Type.String({ minLength: 1, description: 'The name in catalogs and the console.' }),
    description: Type.Optional(Type.String({ description: 'One or two sentences for the catalog.' })),
    provider: Type.Optional(Type.String({ description: 'Who provides it; clients see it as `owned_by`.' })),
    context_limit_tokens: Type.Integer({
      minimum: 1,
      description:
        'The maximum of input and output together. Money is held for at most this much input. The upstream decides whether a request fits; only one with more than 128 characters per token is refused at once.',
    }),
    output_limit_tokens: Type.Integer({
      minimum: 0,
      description:
        'The maximum output of one answer; also the cap of calls without `max_tokens`, unless the balance or a limit pays for less. 0 for models that return vectors.',
    }),
    input_modalities: Type.Optional({ ...words, description: 'What it reads; a request with anything else is refused. Absent: `text`.' }),
    output_modalities: Type.Optional({ ...words, description: 'What it returns. Absent: `text`.' }),
    capabilities: Type.Optional({ ...words, description: 'What it can do besides text in, text out. Absent: nothing else.' }),
    targets: Type.Array(TargetFields, {
      description:
        'The upstreams that serve it, at most 16 ([routing](routing.md)). Empty for a [product of an internal service](grpc.md#charge-for-a-product-of-your-own).',
    }),
    image_tokens_max: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'The most input tokens that the upstream counts for one image, which calls hold. Absent or 0: 16,384.',
      }),
    ),
    prefix_affinity: Type.Optional(
      Type.Boolean({
        description: 'Whether calls with the same prompt prefix go to the same target, which has the prefix cached. Absent: true.',
      }),
    ),
    hedge_after_ms: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: 'After this time without a first token, a second target is called as well. 50 to 600,000. Absent: never.',
      }),
    ),
    tokenizer: Type.Optional(Type.String({ description: 'How input is counted before a call. Absent: `o200k`.' })),
    state: Type.Optional(Type.String({ description: 'Whether it can be called. Absent: `active`.' })),
    aliases: Type.Optional(Type.Array(Type.String(), { description: 'Other ids for the same model, at most 16.' })),
    price: Type.Optional(
      Type.Unknown({
        description: 'Written by `model show` and ignored when read: prices have [commands of their own](own-server.md#price).',
      }),
    ),
    paused: Type.Optional(
      Type.Unknown({ description: 'Written by `model show` and ignored when read: `tollgate model pause` and `resume` change it.' }),
    ),
    created_at: Type.Optional(Type.Unknown({ description: 'Written by `model show` and ignored when read.' })),
  },
  strict,
);

/** Returns the model in the text. Raises a CliError that names every fault. */
export function parseModelFile(text: string): Model {
  return readModel(parseJson(text));
}

/** Returns the model in a parsed JSON value. Raises a CliError that names every fault. */
export function readModel(json: unknown): Model {
  const value = checked(json);
  return Model.fromPartial({
    id: value.id,
    displayName: value.display_name,
    description: value.description ?? '',
    provider: value.provider ?? '',
    contextLimitTokens: value.context_limit_tokens,
    outputLimitTokens: value.output_limit_tokens,
    inputModalities: readWords('input_modalities', value.input_modalities ?? ['text'], modelWords.modality),
    outputModalities: readWords('output_modalities', value.output_modalities ?? ['text'], modelWords.modality),
    capabilities: readWords('capabilities', value.capabilities ?? [], modelWords.capability),
    targets: value.targets.map((target) => ({
      upstreamId: target.upstream_id,
      upstreamModel: target.upstream_model,
      priority: target.priority,
      weight: target.weight,
    })),
    imageTokensMax: value.image_tokens_max ?? 0,
    prefixAffinity: value.prefix_affinity ?? true,
    hedgeAfterMs: value.hedge_after_ms ?? undefined,
    tokenizer: readWords('tokenizer', [value.tokenizer ?? 'o200k'], modelWords.tokenizer)[0]!,
    state: readWords('state', [value.state ?? 'active'], modelWords.state)[0]!,
    aliases: value.aliases ?? [],
  });
}

/** Parses JSON. Raises a CliError when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`The file is not JSON: ${(error as Error).message}.`, { exitCode: 2 });
  }
}

function checked(value: unknown): Static<typeof ModelFile> {
  const faults: string[] = [];
  for (const error of Errors(ModelFile, value)) {
    const where = error.instancePath === '' ? 'the model' : error.instancePath.slice(1).replaceAll('/', '.');
    if (error.keyword === 'additionalProperties') {
      const known = error.instancePath === '' ? Object.keys(ModelFile.properties) : Object.keys(TargetFields.properties);
      for (const name of error.params.additionalProperties) {
        const near = nearMatch(name, known);
        faults.push(`${where} has no field "${name}"${near === undefined ? '' : ` (did you mean "${near}"?)`}`);
      }
    } else if (error.keyword !== 'boolean') {
      // An unknown field is also reported as a "boolean" fault of its own schema, false.
      faults.push(`${where} ${error.message}`);
    }
  }
  if (faults.length > 0)
    throw new CliError(`The model is invalid: ${faults.join('; ')}.`, {
      exitCode: 2,
    });
  return value as Static<typeof ModelFile>;
}

function readWords<E extends number>(field: string, texts: readonly string[], known: Words<E>): E[] {
  return texts.map((text) => {
    try {
      return known.parse(text);
    } catch (error) {
      throw new CliError(`${field}: "${text}" is not known. ${(error as Error).message}`, { exitCode: 2 });
    }
  });
}
