// Errors of the console's API: a code to branch on, the rule and parameters from which pages build their own sentence, and an English sentence. Pure.
import type { AppError } from '#client/errors/app-error.js';
import { Status } from '#client/errors/status.js';
import { shownMessage } from '../../formats/errors/error-details.js';
import type { HttpError } from '../../formats/format.js';
import type { ConsoleError } from '../schemas/error.js';

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

// Errors between the installation's own processes are not the browser's fault.
const ours: ReadonlySet<string> = new Set(['internal', 'peer_not_permitted', 'actor_refused']);

/** Returns the HTTP response for an error. */
export function renderConsoleError(error: AppError, requestId: string): HttpError {
  const isOurs = ours.has(error.reason);
  const { field = null, rule = null, ...params } = error.details;
  const shown: ConsoleError = isOurs
    ? {
        code: 'internal',
        rule: null,
        params: {},
        message: 'Something went wrong on our side; give the request id to the operator.',
        field: null,
        request_id: requestId,
      }
    : { code: error.reason, rule, params, message: shownMessage(error), field, request_id: requestId };
  const retryAfter: Record<string, string> =
    error.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) };
  const status = isOurs ? 500 : error.reason === 'body_too_large' ? 413 : (statusOfGrpc[error.code] ?? 500);
  return { status, body: { error: shown }, headers: { ...retryAfter, 'cache-control': 'no-store' } };
}
