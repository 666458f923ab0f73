// For every reason: what it means to the caller, and what to do about it. A missing reason is a compile error. Pure.
import type { Reason } from '#rules/errors/reasons.js';

/** A part of the page of errors. */
export interface AdviceGroup {
  readonly title: string;
  readonly reasons: readonly Reason[];
}

/** What a reason means, and what to do. */
export interface Advice {
  readonly means: string;
  readonly todo: string;
}

const request = {
  invalid_request: {
    means: 'A field is missing, malformed or out of range; `param` names it.',
    todo: 'Correct the field as described in the message.',
  },
  unsupported_field: {
    means:
      'The request has a field that would change the answer and that is not supported, or not by any upstream of this model; `param` names it.',
    todo: 'Omit the field, or choose a model that has the feature: [models](../models) lists the capabilities of each.',
  },
  context_length_exceeded: {
    means: 'The conversation and the requested output are longer than the context of the model.',
    todo: 'Shorten the conversation, lower `max_tokens`, or choose a model with a longer context.',
  },
  body_too_large: {
    means: 'The body is larger than `limit_bytes`, or than the upstream accepts.',
    todo: 'Send less: smaller images, fewer turns.',
  },
  upload_too_slow: {
    means: 'The body arrived more slowly than the operator permits. Nothing was executed.',
    todo: 'Retry on a faster connection, or send less.',
  },
  idempotency_mismatch: {
    means: 'The `Idempotency-Key` was used before, with a different body.',
    todo: 'Use a new idempotency key for each call; see [idempotency](idempotency.md).',
  },
  idempotency_in_progress: {
    means: 'The call with this `Idempotency-Key` is still running.',
    todo: 'Retry the same request after `retry-after`; the retry gets the answer of the first call.',
  },
  idempotency_answer_gone: {
    means: 'The call with this `Idempotency-Key` was charged, but its answer was not kept, or is no longer kept.',
    todo: 'Send it again with a new idempotency key. That is a new call with its own charge.',
  },
  not_found: {
    means: 'The path, or the object that it names, does not exist; `what` is the kind of object.',
    todo: 'Check the address against the [API reference](api.md), or the id.',
  },
  not_offered: {
    means: "The path belongs to a vendor's API and is not offered here; `nearest` is the closest alternative.",
    todo: 'Do what the message says; [not offered](not-offered.md) lists all such paths.',
  },
  already_exists: { means: 'The object to be created already exists.', todo: 'Use the existing one, or another name.' },
  failed_precondition: { means: 'The current state does not allow this.', todo: 'Follow the message, then retry.' },
  method_not_allowed: { means: 'The path exists, but not with this HTTP method.', todo: 'Use a method listed in the `allow` header.' },
};

const caller = {
  key_missing: {
    means: 'No platform key was sent.',
    todo: 'Send it as `Authorization: Bearer` or as `x-api-key`; [clients](clients.md) shows where to set it in each library.',
  },
  key_malformed: {
    means: "The value is not a well-formed platform key. It may be truncated, or it may be a vendor's key.",
    todo: 'Copy the whole key.',
  },
  key_unknown: {
    means: 'The key does not exist in this installation.',
    todo: 'Check that the key and the address belong to the same installation.',
  },
  key_revoked: { means: 'The key was revoked permanently.', todo: 'Create another key.' },
  key_expired: { means: 'The key has expired.', todo: 'Create another key, or rotate keys before they expire.' },
  key_disabled: { means: 'The key is disabled.', todo: 'Enable it again.' },
  account_suspended: { means: 'The operator has suspended the account.', todo: 'Contact the operator.' },
  model_not_permitted: {
    means: 'The key may not use this model.',
    todo: "Use a model that `GET /v1/models` lists, or change the key's models.",
  },
  address_not_permitted: {
    means:
      'The key has a list of [allowed addresses](keys.md#allowed-addresses), and `address`, from which the call came, is not among them.',
    todo: 'Call from an allowed address, or add this one to the key. Behind a proxy, check which address the gateway sees.',
  },
};

const models = {
  model_unknown: {
    means: 'There is no model or alias with this name.',
    todo: 'Use an id from `GET /v1/models`, or from the page of [models](../models).',
  },
  model_unpriced: {
    means: 'The model has no price in force. Calls to such models are refused, never free.',
    todo: 'Choose another model, or ask the operator to publish a price.',
  },
  model_paused: {
    means: 'The operator has paused the model, for the reason in the message. `until` is the end of the pause, if one is known.',
    todo: 'Use another model, or retry at `until`; `retry-after` is at most a minute. The catalog shows paused models.',
  },
  model_unavailable: {
    means: 'The model has no upstreams, or all of them are disabled or drained.',
    todo: 'Choose another model, or ask the operator, who can run `tollgate doctor`. If the response has `retry-after`, the upstreams may be back shortly: retry.',
  },
};

const money = {
  balance_empty: {
    means: 'The balance is less than the most that this call can cost. `available`, `held` and `needed` are the amounts in USD.',
    todo: 'Add funds, or request less: a lower `max_tokens` lowers the amount needed.',
  },
  balance_held: {
    means: 'The balance is sufficient, but calls in flight hold a part of it (`held`).',
    todo: 'Retry after `retry-after`: what those calls do not use is released when they end.',
  },
  key_limit_reached: {
    means: "This call can cost more than what is left of the key's limit (`limit`); `spent` and `held` show how much of it is used.",
    todo: 'With `retry-after`, calls in flight hold the missing amount: retry then. Otherwise raise the limit, or request less.',
  },
  budget_reached: {
    means:
      'This call can cost more than what is left of a budget (`limit`) of the key, its project or its account (`scope`) for this `period`; `spent` and `held` show how much of it is used.',
    todo: 'With `retry-after`, calls in flight hold the missing amount: retry then. Otherwise wait until `resets_at`, raise the budget, or request less.',
  },
};

const limits = {
  rate_limited: {
    means:
      'The key, its project, its account, or the model within the account has reached a limit of requests, tokens or concurrent calls.',
    todo: 'Wait for `retry-after`, as client libraries do. `scope`, `limit`, `max` and `used` describe the limit. Without `retry-after`, the request alone exceeds the token limit.',
  },
};

const upstreams = {
  upstream_rejected: {
    means:
      'The upstream rejected the request itself. The message is from the upstream, and so is `code` if it sent one, for example `content_filter`.',
    todo: 'Change the request as described in the message.',
  },
  upstream_rate_limited: {
    means: 'The rate limit of the upstream was exceeded.',
    todo: 'Retry after `retry-after` if it is present, otherwise with exponential backoff.',
  },
  upstream_overloaded: {
    means: 'The upstream is overloaded, or has reached the maximum number of calls in flight that the operator has set for it.',
    todo: 'Retry after `retry-after` if it is present, otherwise with exponential backoff.',
  },
  upstream_unavailable: {
    means: "The upstream could not be reached, or rejected the operator's credentials.",
    todo: 'Retry with exponential backoff; if the problem persists, give the request id to the operator.',
  },
  upstream_failed: {
    means: 'The upstream returned an error, or ended its answer early.',
    todo: 'Retry. What was delivered before the error is charged as described in [charges](charging.md).',
  },
  upstream_timeout: {
    means: 'The upstream did not start or continue its answer in time.',
    todo: 'Retry. Streaming, or a lower `max_tokens`, makes it less likely.',
  },
};

const ours = {
  overloaded: {
    means:
      'Too many calls are in flight, or too many bytes of requests are being read, in this gateway or in your account. Nothing was executed.',
    todo: 'Retry after `retry-after`, with fewer concurrent calls.',
  },
  service_unavailable: {
    means: 'A service of this installation cannot be reached, or the gateway is about to stop.',
    todo: 'Retry after `retry-after`. With an `Idempotency-Key`, a retry is never charged twice.',
  },
  deadline_exceeded: {
    means: 'The request exceeded a time limit of Tollgate.',
    todo: 'Retry. With an `Idempotency-Key`, a retry is never charged twice.',
  },
  cancelled: { means: 'The client closed the connection; this appears in logs and records only.', todo: 'Nothing.' },
  unimplemented: { means: 'This version does not support that.', todo: 'Omit it, or ask the operator for an update.' },
  internal: { means: 'An internal error of Tollgate.', todo: 'Retry once; if the problem persists, give the request id to the operator.' },
};

const hidden = {
  peer_not_permitted: {
    means: 'A process of this installation called an RPC that it is not permitted to call.',
    todo: 'The operator finds the cause in the log, by the request id.',
  },
  actor_refused: {
    means: 'A process of this installation made a call on behalf of a user without valid proof of who the user is.',
    todo: 'Sign in again. If that does not help, the operator finds the cause in the log, by the request id.',
  },
  hold_closed: { means: 'The hold of the call had ended before it was used.', todo: 'Retry.' },
  call_closed: {
    means: 'The call was recorded as lost before its end was reported.',
    todo: 'Check the usage record for what was charged.',
  },
};

const users = {
  sign_in_refused: {
    means: 'The credentials for the sign-in were wrong. The error never says which part was wrong.',
    todo: 'Check the address and the password.',
  },
  sign_in_throttled: { means: 'Too many attempts failed.', todo: 'Wait for `retry-after`.' },
  session_unknown: { means: 'The session has ended.', todo: 'Sign in again.' },
  code_refused: {
    means: 'The redemption code does not exist, or is used, void or expired. The error never says which.',
    todo: 'Compare it with the code that you received, or ask the sender.',
  },
  code_throttled: { means: 'Too many redemption codes of this account were refused.', todo: 'Wait for `retry-after`.' },
  role_not_permitted: { means: "The user's role does not allow this.", todo: 'Ask an owner or admin of the account.' },
};

/** The advice by reason. A reason without advice does not compile. */
export const adviceOf: Readonly<Record<Reason, Advice>> = {
  ...request,
  ...caller,
  ...models,
  ...money,
  ...limits,
  ...upstreams,
  ...ours,
  ...hidden,
  ...users,
};

/** The reasons that callers of models can receive. */
export const callerGroups: readonly AdviceGroup[] = [
  { title: 'The request', reasons: namesOf(request) },
  { title: 'The key', reasons: namesOf(caller) },
  { title: 'The model', reasons: namesOf(models) },
  { title: 'Money', reasons: namesOf(money) },
  { title: 'Rate limits', reasons: namesOf(limits) },
  { title: 'The upstream', reasons: namesOf(upstreams) },
  { title: 'Tollgate itself', reasons: namesOf(ours) },
];

/** The reasons that callers receive as `internal`. */
export const hiddenGroup: AdviceGroup = { title: 'Reported as internal', reasons: namesOf(hidden) };

/** The reasons that only users of the console can receive. */
export const consoleGroup: AdviceGroup = { title: 'In the console', reasons: namesOf(users) };

function namesOf(advices: Partial<Record<Reason, Advice>>): Reason[] {
  return Object.keys(advices) as Reason[];
}
