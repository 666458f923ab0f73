// Builds arguments for a tool from its JSON Schema and the user's text. Pure.
import type { Tool } from '#proto/inference/v1/inference.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';
import { toolParameters } from '../requests/tool-json.js';
import { valueFor } from './schema-value.js';

/** Returns the arguments for a call of the tool. */
export function argumentsFor(tool: Tool, text: string): JsonObject {
  const value = valueFor({ ...toolParameters(tool), type: 'object' }, text);
  return isObject(value) ? value : {};
}
