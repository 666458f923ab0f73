// Errors in the messages format.
import type { AppError } from '#client/errors/app-error.js';
import { type ErrorObject, errorObject, type Rendering, type Renderings, retryHeaders } from '../error-details.js';
import type { HttpError } from '../format.js';

const invalid = (code: string, status = 400): Rendering => ({ status, type: 'invalid_request_error', code, retry: 'never' });
const badKey: Rendering = { status: 401, type: 'authentication_error', code: 'invalid_api_key', retry: 'never' };
const forbidden = (code: string): Rendering => ({ status: 403, type: 'permission_error', code, retry: 'never' });
const notFound = (code: string): Rendering => ({ status: 404, type: 'not_found_error', code, retry: 'never' });
const conflict = (code: string): Rendering => ({ status: 409, type: 'conflict_error', code, retry: 'never' });
const unpaid = (code: string): Rendering => ({ status: 402, type: 'billing_error', code, retry: 'never' });
const failed = (status: number, code: string | null, retry: Rendering['retry']): Rendering => ({ status, type: 'api_error', code, retry });
const overloaded = (code: string, retry: Rendering['retry'] = 'unsaid'): Rendering => ({
  status: 529,
  type: 'overloaded_error',
  code,
  retry,
});
const timedOut = (code: string): Rendering => ({ status: 504, type: 'timeout_error', code, retry: 'unsaid' });

/** Maps every reason to this format's error. */
export const renderings: Renderings = {
  invalid_request: invalid('invalid_value'),
  unsupported_field: invalid('unsupported_parameter'),
  context_length_exceeded: invalid('context_length_exceeded'),
  body_too_large: { status: 413, type: 'request_too_large', code: 'body_too_large', retry: 'never' },
  upload_too_slow: { status: 408, type: 'timeout_error', code: 'upload_too_slow', retry: 'unsaid' },
  idempotency_mismatch: invalid('idempotency_mismatch', 422),
  idempotency_in_progress: { ...conflict('idempotency_in_progress'), retry: 'later' },
  idempotency_answer_gone: invalid('idempotency_answer_gone', 410),
  not_found: notFound('not_found'),
  not_offered: notFound('not_offered'),
  already_exists: conflict('already_exists'),
  failed_precondition: invalid('failed_precondition'),
  method_not_allowed: invalid('method_not_allowed', 405),

  key_missing: badKey,
  key_malformed: badKey,
  key_unknown: badKey,
  key_revoked: badKey,
  key_expired: badKey,
  key_disabled: forbidden('key_disabled'),
  account_suspended: forbidden('account_suspended'),
  model_not_permitted: forbidden('model_not_permitted'),
  // Only the console returns these, in its own form.
  sign_in_refused: failed(500, null, 'never'),
  sign_in_throttled: failed(500, null, 'never'),
  session_unknown: failed(500, null, 'never'),
  role_not_permitted: failed(500, null, 'never'),
  code_refused: failed(500, null, 'never'),
  code_throttled: failed(500, null, 'never'),
  peer_not_permitted: failed(500, null, 'never'),
  actor_refused: failed(500, null, 'never'),

  model_unknown: notFound('model_not_found'),
  model_unpriced: invalid('model_unpriced'),
  model_unavailable: overloaded('model_unavailable', 'when-told'),

  balance_empty: unpaid('balance_empty'),
  balance_held: { ...unpaid('balance_held'), retry: 'later' },
  // Calls in flight may hold the missing amount.
  key_limit_reached: { ...unpaid('key_limit_reached'), retry: 'when-told' },
  budget_reached: { ...unpaid('budget_reached'), retry: 'when-told' },
  hold_closed: failed(500, null, 'unsaid'),
  call_closed: failed(500, null, 'unsaid'),

  rate_limited: { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded', retry: 'when-told' },

  upstream_rejected: invalid('upstream_rejected'),
  upstream_rate_limited: { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded', retry: 'unsaid' },
  upstream_overloaded: overloaded('upstream_overloaded'),
  upstream_unavailable: overloaded('upstream_unavailable'),
  upstream_failed: failed(502, 'upstream_failed', 'unsaid'),
  upstream_timeout: timedOut('upstream_timeout'),

  overloaded: overloaded('overloaded', 'later'),
  service_unavailable: overloaded('service_unavailable', 'later'),
  deadline_exceeded: timedOut('deadline_exceeded'),
  cancelled: failed(499, 'cancelled', 'never'),
  unimplemented: failed(501, 'unimplemented', 'never'),
  internal: failed(500, null, 'unsaid'),
};

/** Returns an error as an HTTP response. The body also holds what clients of the chat-completions format read. */
export function renderError(error: AppError, requestId: string): HttpError {
  const rendering = renderings[error.reason];
  const object = errorObject(error, rendering);
  const body = { type: 'error', error: { ...object, ...machineReadable(object) }, request_id: requestId };
  return { status: rendering.status, body, headers: retryHeaders(error, rendering) };
}

/** Returns the code that newer clients of this format look for. */
function machineReadable({ code, param, reason }: ErrorObject): { details?: Record<string, unknown> } {
  // The tool runner of @anthropic-ai/sdk 1 requests a conversation stored by the server, and only falls back on exactly this error.
  if (reason === 'unsupported_field' && param === 'thread')
    return { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } };
  return code === null ? {} : { details: { error_code: code } };
}

/** Returns the frame for an error inside a stream that has begun. */
export function renderErrorFrame(error: AppError, requestId: string): string {
  return `event: error\ndata: ${JSON.stringify(renderError(error, requestId).body)}\n\n`;
}
