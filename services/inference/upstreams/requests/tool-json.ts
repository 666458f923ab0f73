// Parses the JSON texts of tools, which callers wrote and models may have garbled, for an upstream's body. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { Tool } from '#proto/inference/v1/inference.js';
import { parseExactly } from '#rules/wire/exact-json.js';
import { customToolParameters } from './custom-tools.js';
import { isObject, type JsonObject, parsedJson } from '../answers/stream-decoder.js';

/** Returns the schema of a tool's arguments; undefined if it takes none. Raises invalid_request if it is not a JSON object. */
export function toolParameters(tool: Tool): JsonObject | undefined {
  if (tool.custom !== undefined) return customToolParameters();
  if (tool.parametersJson === '') return undefined;
  const schema = parsedJson(tool.parametersJson);
  if (!isObject(schema)) {
    throw new AppError('invalid_request', `The parameters of the tool "${tool.name}" are not a JSON object.`, {
      details: { field: 'tools' },
    });
  }
  return schema;
}

/** Returns the arguments of a past tool call as an object. Garbled arguments are kept under "_raw", so that the conversation can continue. */
export function toolArguments(argumentsJson: string): JsonObject {
  if (argumentsJson.trim() === '') return {};
  try {
    const value = parseExactly(argumentsJson);
    if (isObject(value)) return value;
  } catch {
    // A model may write invalid JSON.
  }
  return { _raw: argumentsJson };
}
