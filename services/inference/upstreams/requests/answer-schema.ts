// The schema that a caller sends for an answer. Pure.
import { AppError } from '#client/errors/app-error.js';
import { type JsonObject, parsedJson } from '../answers/stream-decoder.js';

/** Returns the schema that the caller wants the answer to follow. Raises invalid_request if it is not JSON. */
export function answerSchema(json: string): unknown {
  const schema = parsedJson(json);
  if (schema === undefined)
    throw new AppError('invalid_request', 'The schema of the answer is not JSON.', { details: { field: 'response_format' } });
  return schema;
}

/** Reports whether a schema admits objects. */
export function isOfObjects({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
}
