// Errors in the middle of a responses stream: the `error` event, and the error of a response that failed. Pure.
import type { AppError } from '#client/errors/app-error.js';
import { frameError } from '../chat-completions/error.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';

/** Returns the error for an `error` event. The vendor puts its fields alongside the type or into an object of their own. */
export function eventError(event: JsonObject, model: string): AppError {
  if (isObject(event['error'])) return frameError(event['error'], model);
  const { type: _type, ...fields } = event;
  return frameError(typeof event['error'] === 'string' ? { ...fields, message: event['error'] } : fields, model);
}

/** Returns the error for a response that failed or was cancelled. */
export function responseFailure(response: JsonObject, model: string): AppError {
  const { error, status } = response;
  return frameError(isObject(error) ? error : { message: `The response has the status "${String(status)}".` }, model);
}
