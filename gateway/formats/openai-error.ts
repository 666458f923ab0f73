// Errors in OpenAI's formats, which share their table and their body.
import type { AppError } from '#client/errors/app-error.js';
import { errorObject, type Rendering, type Renderings, retryHeaders } from './error-details.js';
import type { HttpError } from './format.js';

const invalid = (code: string, status = 400): Rendering => ({ status, type: 'invalid_request_error', code, retry: 'never' });
const badKey = invalid('invalid_api_key', 401);
const forbidden = (code: string): Rendering => ({ status: 403, type: 'permission_error', code, retry: 'never' });
const unpaid = (code: string): Rendering => ({ status: 402, type: 'insufficient_quota', code, retry: 'never' });
const failed = (status: number, code: string | null, retry: Rendering['retry']): Rendering => ({
  status,
  type: 'server_error',
  code,
  retry,
});
const limited: Rendering = { status: 429, type: 'requests', code: 'rate_limit_exceeded', retry: 'unsaid' };

/** Maps every reason to this format's error. */
export const renderings: Renderings = {
  invalid_request: invalid('invalid_value'),
  unsupported_field: invalid('unsupported_parameter'),
  context_length_exceeded: invalid('context_length_exceeded'),
  body_too_large: invalid('body_too_large', 413),
  upload_too_slow: { ...invalid('upload_too_slow', 408), retry: 'unsaid' },
  idempotency_mismatch: invalid('idempotency_mismatch', 422),
  idempotency_in_progress: { ...invalid('idempotency_in_progress', 409), retry: 'later' },
  idempotency_answer_gone: invalid('idempotency_answer_gone', 410),
  not_found: invalid('not_found', 404),
  not_offered: invalid('not_offered', 404),
  already_exists: invalid('already_exists', 409),
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

  model_unknown: invalid('model_not_found', 404),
  model_unpriced: invalid('model_unpriced'),
  model_unavailable: failed(503, 'model_unavailable', 'when-told'),

  balance_empty: unpaid('balance_empty'),
  balance_held: { ...unpaid('balance_held'), retry: 'later' },
  // Calls in flight may hold the missing amount.
  key_limit_reached: { ...unpaid('key_limit_reached'), retry: 'when-told' },
  budget_reached: { ...unpaid('budget_reached'), retry: 'when-told' },
  hold_closed: failed(500, null, 'unsaid'),
  call_closed: failed(500, null, 'unsaid'),

  rate_limited: { ...limited, retry: 'when-told' },

  upstream_rejected: invalid('upstream_rejected'),
  upstream_rate_limited: limited,
  upstream_overloaded: failed(503, 'upstream_overloaded', 'unsaid'),
  upstream_unavailable: failed(503, 'upstream_unavailable', 'unsaid'),
  upstream_failed: failed(502, 'upstream_failed', 'unsaid'),
  upstream_timeout: failed(504, 'upstream_timeout', 'unsaid'),

  overloaded: failed(503, 'overloaded', 'later'),
  service_unavailable: failed(503, 'service_unavailable', 'later'),
  deadline_exceeded: failed(504, 'deadline_exceeded', 'unsaid'),
  cancelled: failed(499, 'cancelled', 'never'),
  unimplemented: failed(501, 'unimplemented', 'never'),
  internal: failed(500, null, 'unsaid'),
};

/** Returns an error as an HTTP response. The body also holds what clients of the messages format read. */
export function renderError(error: AppError, requestId: string): HttpError {
  const rendering = renderings[error.reason];
  const body = { type: 'error', error: errorObject(error, rendering), request_id: requestId };
  return { status: rendering.status, body, headers: retryHeaders(error, rendering) };
}
