// Parses a model from JSON in the format that `tollgate model show --json` writes. Pure.
import { type Static, Type } from 'typebox';
import { Errors } from 'typebox/value';
import { nearest } from '#kit/config/settings.js';
import { Model } from '#proto/catalog/v1/catalog.js';
import { CliError } from './errors.js';
import type { Words } from './parse.js';
import { modelWords } from './views/model.js';

const strict = { additionalProperties: false };
const words = Type.Array(Type.String());
const ModelFile = Type.Object(
  {
    id: Type.String({ minLength: 1 }),
    display_name: Type.String({ minLength: 1 }),
    description: Type.Optional(Type.String()),
    provider: Type.Optional(Type.String()),
    context_limit_tokens: Type.Integer({ minimum: 1 }),
    output_limit_tokens: Type.Integer({ minimum: 0 }),
    input_modalities: Type.Optional(words),
    output_modalities: Type.Optional(words),
    capabilities: Type.Optional(words),
    targets: Type.Array(
      Type.Object(
        {
          upstream_id: Type.String({ minLength: 1 }),
          upstream_model: Type.String({ minLength: 1 }),
          priority: Type.Optional(Type.Integer({ minimum: 0 })),
          weight: Type.Optional(Type.Integer({ minimum: 1 })),
        },
        strict,
      ),
    ),
    image_tokens_max: Type.Optional(Type.Integer({ minimum: 0 })),
    prefix_affinity: Type.Optional(Type.Boolean()),
    hedge_after_ms: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])),
    tokenizer: Type.Optional(Type.String()),
    state: Type.Optional(Type.String()),
    aliases: Type.Optional(Type.Array(Type.String())),
    // Written by `model show`, and ignored when read.
    price: Type.Optional(Type.Unknown()),
    created_at: Type.Optional(Type.Unknown()),
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
      const known = error.instancePath === '' ? Object.keys(ModelFile.properties) : ['upstream_id', 'upstream_model'];
      for (const name of error.params.additionalProperties)
        faults.push(`${where} has no field "${name}"; did you mean "${nearest(name, known)}"?`);
    } else if (error.keyword !== 'boolean') {
      // An unknown field is also reported as a "boolean" fault of its own schema, false.
      faults.push(`${where} ${error.message}`);
    }
  }
  if (faults.length > 0)
    throw new CliError(`The model has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}: ${faults.join('; ')}.`, {
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
