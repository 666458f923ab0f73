// Errors in the messages format.
import type { AppError } from '#client/errors/app-error.js';
import { type ErrorObject, errorObject, retryHeaders } from '../errors/error-details.js';
import type { HttpError } from '../format.js';
import { renderingsFor } from '../errors/renderings.js';

/** Maps every reason to this format's error. */
export const renderings = renderingsFor(
  {
    invalid: 'invalid_request_error',
    'too-large': 'request_too_large',
    'too-slow': 'timeout_error',
    unauthenticated: 'authentication_error',
    forbidden: 'permission_error',
    'not-found': 'not_found_error',
    conflict: 'conflict_error',
    unpaid: 'billing_error',
    limited: 'rate_limit_error',
    overloaded: 'overloaded_error',
    'timed-out': 'timeout_error',
    failed: 'api_error',
  },
  { overloaded: 529 },
);

/** Returns an error as an HTTP response. The body also holds what clients of the chat-completions format read. */
export function renderError(error: AppError, requestId: string): HttpError {
  const rendering = renderings[error.reason];
  const object = errorObject(error, rendering);
  const body = { type: 'error', error: { ...object, ...machineReadable(object, error) }, request_id: requestId };
  return { status: rendering.status, body, headers: retryHeaders(error, rendering) };
}

/** Returns the code that newer clients of this format look for, with the details that the vendor returned. */
function machineReadable({ code, param, reason }: ErrorObject, { details }: AppError): { details?: Record<string, unknown> } {
  // The tool runner of @anthropic-ai/sdk 1 requests a conversation stored by the server, and only falls back on exactly this error.
  if (reason === 'unsupported_field' && param === 'thread')
    return { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } };
  if (code === null) return {};
  const ofVendor = reason === 'upstream_rejected' ? parsedDetails(details['details']) : {};
  return { details: { ...ofVendor, error_code: code } };
}

/** Returns the details that inference has relayed, or none if it is of another version and sends something else. */
function parsedDetails(json = '{}'): object {
  try {
    return Object(JSON.parse(json));
  } catch {
    return {};
  }
}

/** Returns the frame for an error inside a stream that has begun. */
export function renderErrorFrame(error: AppError, requestId: string): string {
  return `event: error\ndata: ${JSON.stringify(renderError(error, requestId).body)}\n\n`;
}
