// How the formats report each reason: with one status, code and advice on retries, and with the vendor's word for its kind of error.
import type { Reason } from '#rules/errors/reasons.js';
import type { Rendering, Renderings } from './error-details.js';

/** The kinds of errors for which the vendors have words of their own. */
export type ErrorKind =
  | 'invalid'
  | 'too-large'
  | 'too-slow'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'unpaid'
  | 'limited'
  | 'overloaded'
  | 'timed-out'
  | 'failed';

interface Report extends Omit<Rendering, 'type'> {
  kind: ErrorKind;
}

const report = (kind: ErrorKind, status: number, code: string | null, retry: Rendering['retry'] = 'never'): Report => ({
  kind,
  status,
  code,
  retry,
});
const invalid = (code: string, status = 400): Report => report('invalid', status, code);
const badKey = report('unauthenticated', 401, 'invalid_api_key');
const forbidden = (code: string): Report => report('forbidden', 403, code);
const unpaid = (code: string, retry: Rendering['retry'] = 'never'): Report => report('unpaid', 402, code, retry);
const overloaded = (code: string, retry: Rendering['retry'] = 'by-status'): Report => report('overloaded', 503, code, retry);
const internal = report('failed', 500, null, 'by-status');
// Only the console returns these, in its own form.
const consoleOnly = report('failed', 500, null);

const reports: Readonly<Record<Reason, Report>> = {
  invalid_request: invalid('invalid_value'),
  unsupported_field: invalid('unsupported_parameter'),
  context_length_exceeded: invalid('context_length_exceeded'),
  body_too_large: report('too-large', 413, 'body_too_large'),
  upload_too_slow: report('too-slow', 408, 'upload_too_slow', 'by-status'),
  idempotency_mismatch: invalid('idempotency_mismatch', 422),
  idempotency_in_progress: report('conflict', 409, 'idempotency_in_progress', 'later'),
  idempotency_answer_gone: invalid('idempotency_answer_gone', 410),
  not_found: report('not-found', 404, 'not_found'),
  not_offered: report('not-found', 404, 'not_offered'),
  already_exists: report('conflict', 409, 'already_exists'),
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
  address_not_permitted: forbidden('address_not_permitted'),
  sign_in_refused: consoleOnly,
  sign_in_throttled: consoleOnly,
  session_unknown: consoleOnly,
  role_not_permitted: consoleOnly,
  code_refused: consoleOnly,
  code_throttled: consoleOnly,
  peer_not_permitted: consoleOnly,
  actor_refused: consoleOnly,

  model_unknown: report('not-found', 404, 'model_not_found'),
  model_unpriced: invalid('model_unpriced'),
  model_unavailable: overloaded('model_unavailable', 'conditional'),
  model_paused: overloaded('model_paused', 'conditional'),

  balance_empty: unpaid('balance_empty'),
  balance_held: unpaid('balance_held', 'later'),
  // Calls in flight may hold the missing amount.
  key_limit_reached: unpaid('key_limit_reached', 'conditional'),
  budget_reached: unpaid('budget_reached', 'conditional'),
  hold_closed: internal,
  call_closed: internal,

  rate_limited: report('limited', 429, 'rate_limit_exceeded', 'conditional'),

  upstream_rejected: invalid('upstream_rejected'),
  upstream_rate_limited: report('limited', 429, 'rate_limit_exceeded', 'by-status'),
  upstream_overloaded: overloaded('upstream_overloaded'),
  upstream_unavailable: overloaded('upstream_unavailable'),
  upstream_failed: report('failed', 502, 'upstream_failed', 'by-status'),
  upstream_timeout: report('timed-out', 504, 'upstream_timeout', 'by-status'),

  overloaded: overloaded('overloaded', 'later'),
  service_unavailable: overloaded('service_unavailable', 'later'),
  deadline_exceeded: report('timed-out', 504, 'deadline_exceeded', 'by-status'),
  cancelled: report('failed', 499, 'cancelled'),
  unimplemented: report('failed', 501, 'unimplemented'),
  internal,
};

/** Maps every reason to a vendor's error, from its `error.type` for each kind. `statuses` names the kinds that have a status of the vendor's own. */
export function renderingsFor(types: Readonly<Record<ErrorKind, string>>, statuses: Partial<Record<ErrorKind, number>> = {}): Renderings {
  const entries = Object.entries(reports).map(([reason, { kind, status, ...rest }]) => [
    reason,
    { status: statuses[kind] ?? status, type: types[kind], ...rest },
  ]);
  return Object.fromEntries(entries) as Renderings;
}
