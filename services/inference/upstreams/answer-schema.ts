// Parses the schema that a caller sends for an answer. Pure.
import { AppError } from '#client/errors/app-error.js';

/** Returns the schema that the caller wants the answer to follow. Raises invalid_request if it is not JSON. */
export function answerSchema(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    throw new AppError('invalid_request', 'The schema of the answer is not JSON.', { details: { field: 'response_format' } });
  }
}
