// The form of the answer's text: a schema if the model follows one, otherwise an instruction. Pure.
import type { ResponseFormat } from '#proto/inference/v1/inference.js';
import { answerSchema, isOfObjects } from '../requests/answer-schema.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';
import type { ModelTraits } from './model-traits.js';

/** Holds what is sent to request a form. */
export interface OutputForm {
  /** For `output_config.format`. */
  readonly format?: JsonObject;
  /** Added to the instructions. */
  readonly instruction?: string;
  /** Whether the schema is requested but not enforced. */
  readonly isLoose: boolean;
}

const onlyJson = 'Answer with one JSON object and nothing else: no words before or after it, and no code fence.';

/** Returns what to send for a response format. Raises invalid_request for a schema that is not JSON. */
export function outputForm(responseFormat: ResponseFormat | undefined, { takesSchemas }: ModelTraits): OutputForm {
  switch (responseFormat?.format?.$case) {
    case 'jsonObject':
      return { instruction: onlyJson, isLoose: false };
    case 'jsonSchema': {
      const { schemaJson } = responseFormat.format.value;
      const schema = enforceable(answerSchema(schemaJson));
      return takesSchemas
        ? { format: { type: 'json_schema', schema }, isLoose: false }
        : { instruction: `${onlyJson} It must fit this JSON Schema: ${schemaJson}`, isLoose: true };
    }
    default:
      return { isLoose: false };
  }
}

// Keywords that the vendor enforces; the rest is described in words, as the vendor's own libraries do (lib/transform-json-schema of @anthropic-ai/sdk).
const enforced = new Set([
  '$ref',
  '$defs',
  'definitions',
  'enum',
  'const',
  'type',
  'anyOf',
  'allOf',
  'description',
  'title',
  'properties',
  'required',
  'items',
  'default',
]);
const formats = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']);

/** Returns the schema with every object closed, and with the keywords that are not enforced as words in its description. */
function enforceable(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { $schema: _dialect, additionalProperties: _open, oneOf, ...schema } = value;
  const kept: Record<string, unknown> = {};
  const words: string[] = [];
  for (const [name, field] of Object.entries(oneOf === undefined ? schema : { anyOf: oneOf, ...schema })) {
    const isKept =
      enforced.has(name) || (name === 'format' && formats.has(field as string)) || (name === 'minItems' && (field === 0 || field === 1));
    if (isKept) kept[name] = nested(name, field);
    else words.push(`${name}: ${JSON.stringify(field)}`);
  }
  if (isOfObjects(kept)) kept['additionalProperties'] = false;
  if (words.length > 0)
    kept['description'] = [kept['description'], `{${words.join(', ')}}`].filter((text) => typeof text === 'string').join('\n\n');
  return kept;
}

function nested(name: string, value: unknown): unknown {
  if (name === 'items') return enforceable(value);
  if (name === 'anyOf' || name === 'allOf') return Array.isArray(value) ? value.map(enforceable) : value;
  const isMap = name === 'properties' || name === '$defs' || name === 'definitions';
  return isMap && isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, enforceable(schema)])) : value;
}
