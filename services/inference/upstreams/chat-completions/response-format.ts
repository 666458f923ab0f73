// The requested form of the answer's text, in the words of chat-completions upstreams. Pure.
import type { ResponseFormat } from '#proto/inference/v1/inference.js';
import { answerSchema, isOfObjects } from '../requests/answer-schema.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';

/** Returns the field `response_format`. Raises invalid_request for a schema that is not JSON. */
export function responseFormatOf(format: ResponseFormat | undefined): JsonObject | undefined {
  switch (format?.format?.$case) {
    case 'jsonObject':
      return { type: 'json_object' };
    case 'jsonSchema': {
      const { name, description, schemaJson, strict } = format.format.value;
      const schema = answerSchema(schemaJson);
      return {
        type: 'json_schema',
        json_schema: {
          name: name === '' ? 'output' : name,
          description: description === '' ? undefined : description,
          schema,
          // A schema that breaks the rules of strict mode is rejected there, but is still followed as far as possible without it.
          strict: strict !== false && isStrictSchema(schema),
        },
      };
    }
    default:
      return undefined;
  }
}

// Keywords whose value is a schema, a list of schemas, or schemas by name.
const single = ['items', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const named = ['properties', '$defs', 'definitions'];

/** Reports whether strict mode accepts the schema: its root is an object, and every object in it is closed and requires all its properties. */
export function isStrictSchema(schema: unknown): boolean {
  return isObject(schema) && schema['type'] === 'object' && schema['anyOf'] === undefined && isStrict(schema);
}

function isStrict(schema: unknown): boolean {
  if (!isObject(schema)) return typeof schema === 'boolean';
  if (isOfObjects(schema) && !isClosed(schema)) return false;
  return (
    single.every((key) => schema[key] === undefined || isStrict(schema[key])) &&
    lists.every((key) => schema[key] === undefined || (Array.isArray(schema[key]) && schema[key].every(isStrict))) &&
    named.every((key) => schema[key] === undefined || (isObject(schema[key]) && Object.values(schema[key]).every(isStrict)))
  );
}

function isClosed({ properties, required, additionalProperties }: JsonObject): boolean {
  const names = isObject(properties) ? Object.keys(properties) : [];
  const demanded = new Set<unknown>(Array.isArray(required) ? required : []);
  return additionalProperties === false && names.every((name) => demanded.has(name));
}
