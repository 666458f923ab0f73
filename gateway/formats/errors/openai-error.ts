// Errors in OpenAI's formats, which share their types and their body.
import type { AppError } from '#client/errors/app-error.js';
import { errorObject, retryHeaders } from './error-details.js';
import type { HttpError } from '../format.js';
import { renderingsFor } from './renderings.js';

/** Maps every reason to the error of OpenAI's formats. */
export const renderings = renderingsFor({
  invalid: 'invalid_request_error',
  'too-large': 'invalid_request_error',
  'too-slow': 'invalid_request_error',
  unauthenticated: 'invalid_request_error',
  forbidden: 'permission_error',
  'not-found': 'invalid_request_error',
  conflict: 'invalid_request_error',
  unpaid: 'insufficient_quota',
  limited: 'requests',
  overloaded: 'server_error',
  'timed-out': 'server_error',
  failed: 'server_error',
});

/** Returns an error as an HTTP response. The body also holds what clients of the messages format read. */
export function renderError(error: AppError, requestId: string): HttpError {
  const rendering = renderings[error.reason];
  const body = { type: 'error', error: errorObject(error, rendering), request_id: requestId };
  return { status: rendering.status, body, headers: retryHeaders(error, rendering) };
}
