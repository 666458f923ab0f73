// Errors in the responses format.
import type { AppError } from '#client/errors/app-error.js';
import { errorObject } from '../errors/error-details.js';
import { renderings } from '../errors/openai-error.js';
import type { JsonObject } from '../rest.js';

/** Returns the fields of the event `error`, in the documented place and in the one that libraries read. */
export function errorEvent(error: AppError, requestId: string): JsonObject {
  const object = errorObject(error, renderings[error.reason]);
  const { code, message, param } = object;
  return { code, message, param, error: object, request_id: requestId };
}

/** Returns the `error` of a failed response. Its code is one of the vendor's, by which clients decide whether to retry. */
export function failureOf(error: AppError): JsonObject {
  const { status } = renderings[error.reason];
  const { message } = errorObject(error, renderings[error.reason]);
  return { code: status === 429 ? 'rate_limit_exceeded' : 'server_error', message };
}

/** Returns the frame for an error inside a stream of which no event was sent. */
export function renderErrorFrame(error: AppError, requestId: string): string {
  return `event: error\ndata: ${JSON.stringify({ type: 'error', sequence_number: 0, ...errorEvent(error, requestId) })}\n\n`;
}
