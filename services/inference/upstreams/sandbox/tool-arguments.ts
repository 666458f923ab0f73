// Arguments for a tool, made from its JSON Schema and the user's text. Pure.
import type { Tool } from '#proto/inference/v1/inference.js';
import { isObject, type JsonObject } from '../stream-decoder.js';
import { toolParameters } from '../tool-json.js';

/** Most properties that are filled in. */
export const propertiesMax = 20;

const textCharsMax = 200;

/** The call of the first tool, or of the one that is asked for. */
export function argumentsFor(tool: Tool, text: string): JsonObject {
  const schema = toolParameters(tool) ?? {};
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'].filter((name) => typeof name === 'string') : [];
  const names = (required.length > 0 ? required : Object.keys(properties)).slice(0, propertiesMax);
  return Object.fromEntries(names.map((name) => [name, valueFor(properties[name], text)]));
}

/** A value that a property's schema accepts, as far as its type and its words go. */
function valueFor(schema: unknown, text: string): unknown {
  if (!isObject(schema)) return text.slice(0, textCharsMax);
  if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return schema['enum'][0] as unknown;
  switch (schema['type']) {
    case 'number':
    case 'integer':
      return Number(/\d{1,9}/.exec(text)?.[0] ?? 1);
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return text.slice(0, textCharsMax);
  }
}
