// Refusals as the console's API tells them: a code to branch on, a sentence to show, the field where there is one. Pure.
import type { AppError } from '#client/errors/app-error.js';
import { Status } from '#client/errors/status.js';
import type { HttpError } from '../formats/format.js';

const statusOfGrpc: Partial<Record<Status, number>> = {
  [Status.INVALID_ARGUMENT]: 400,
  [Status.UNAUTHENTICATED]: 401,
  [Status.PERMISSION_DENIED]: 403,
  [Status.NOT_FOUND]: 404,
  [Status.ALREADY_EXISTS]: 409,
  [Status.ABORTED]: 409,
  [Status.FAILED_PRECONDITION]: 409,
  [Status.RESOURCE_EXHAUSTED]: 429,
  [Status.UNAVAILABLE]: 503,
  [Status.DEADLINE_EXCEEDED]: 504,
  [Status.UNIMPLEMENTED]: 405,
};

// What happened between processes of ours is no fault of the browser's.
const ours: ReadonlySet<string> = new Set(['internal', 'peer_not_permitted', 'actor_refused']);

/** A refusal as an HTTP answer. */
export function renderConsoleError(error: AppError, requestId: string): HttpError {
  const isOurs = ours.has(error.reason);
  const body = {
    error: {
      code: isOurs ? 'internal' : error.reason,
      message: isOurs ? 'Something went wrong on our side; tell the operator the request id.' : error.message,
      field: isOurs ? null : (error.details['field'] ?? null),
      request_id: requestId,
    },
  };
  const retryAfter: Record<string, string> =
    error.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) };
  const status = isOurs ? 500 : error.reason === 'body_too_large' ? 413 : (statusOfGrpc[error.code] ?? 500);
  return { status, body, headers: { ...retryAfter, 'cache-control': 'no-store' } };
}
