// For every reason: what it means to the caller, and what to do about it. The compiler lists a reason that is missing here. Pure.
import type { Reason } from '#rules/reasons.js';

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
    todo: 'Correct the field as the message says.',
  },
  unsupported_field: {
    means: 'A field that would change the answer is not supported, or not by any upstream of this model; `param` names it.',
    todo: 'Leave the field out, or choose a model that has the feature: [models](../models) lists what each can do.',
  },
  context_length_exceeded: {
    means: 'The conversation and the output asked for are longer than the context of the model.',
    todo: 'Shorten the conversation, lower `max_tokens`, or choose a model with a longer context.',
  },
  body_too_large: {
    means: 'The body is larger than `limit_bytes`, or than the upstream takes.',
    todo: 'Send less: smaller images, fewer turns.',
  },
  idempotency_mismatch: {
    means: 'The `Idempotency-Key` was used before, with another body.',
    todo: 'Take a new key for each call; see [idempotency](idempotency.md).',
  },
  idempotency_in_progress: {
    means: 'The call of this `Idempotency-Key` is still running.',
    todo: 'Repeat the same request after `retry-after`: it gets the answer of the first.',
  },
  idempotency_answer_gone: {
    means: 'The call of this `Idempotency-Key` was charged, but its answer was not kept, or not for so long.',
    todo: 'Take a new key to call again. That is a new call with a charge of its own.',
  },
  not_found: {
    means: 'The path, or the record it names, does not exist; `what` tells the kind.',
    todo: 'Check the address against the [API reference](api.md), or the id.',
  },
  already_exists: { means: 'What was to be made exists already.', todo: 'Use the one that exists, or another name.' },
  failed_precondition: { means: 'The present state does not allow this.', todo: 'Do what the message says first.' },
  method_not_allowed: { means: 'The path exists, but not with this HTTP method.', todo: 'Use a method of the header `allow`.' },
};

const caller = {
  key_missing: {
    means: 'No platform key was sent.',
    todo: 'Send it as `Authorization: Bearer` or as `x-api-key`; [clients](clients.md) shows where each library takes it.',
  },
  key_malformed: {
    means: 'What was sent has not the form of a platform key. It may be cut off, or the key of a vendor.',
    todo: 'Copy the whole key.',
  },
  key_unknown: { means: 'There is no such key here.', todo: 'Check that key and address belong to the same Tollgate.' },
  key_revoked: { means: 'The key was revoked, for good.', todo: 'Create another key.' },
  key_expired: { means: 'The key’s time is over.', todo: 'Create another key, or rotate before the end.' },
  key_disabled: { means: 'The key is switched off for now.', todo: 'Have it enabled again.' },
  account_suspended: { means: 'The operator has suspended the account.', todo: 'Ask the operator.' },
  model_not_permitted: {
    means: 'The key may not use this model.',
    todo: 'Use a model that `GET /v1/models` lists, or have the key’s models changed.',
  },
};

const models = {
  model_unknown: {
    means: 'There is no model or alias of this name.',
    todo: 'Take an id of `GET /v1/models`, or of the page of [models](../models).',
  },
  model_unpriced: {
    means: 'The model has no price in force. It is refused, never free.',
    todo: 'Choose another model, or have the operator publish a price.',
  },
  model_unavailable: {
    means: 'No enabled upstream serves the model at the moment.',
    todo: 'Choose another model, or try later; the operator can look at `tollgate doctor`.',
  },
};

const money = {
  balance_empty: {
    means: 'The balance is less than the most that this call can cost. `available`, `held` and `needed` tell how much, in USD.',
    todo: 'Add to the balance, or ask for less: a lower `max_tokens` lowers what is needed.',
  },
  balance_held: {
    means: 'The balance would suffice, were it not for the calls in flight, which hold a part of it (`held`).',
    todo: 'Repeat after `retry-after`: what those calls do not use is free again when they end.',
  },
  key_limit_reached: {
    means: 'The key’s limit (`limit`) does not allow what this call can cost; `spent` and `held` tell what is used of it.',
    todo: 'With `retry-after`, calls in flight hold what is missing: repeat then. Otherwise have the limit raised, or ask for less.',
  },
};

const upstreams = {
  upstream_rejected: {
    means:
      'The vendor refused the request itself. The message is the vendor’s, and `code` too where it gave one, `content_filter` for example.',
    todo: 'Change the request as the message says.',
  },
  upstream_rate_limited: {
    means: 'The vendor takes no more calls for now.',
    todo: 'Repeat after `retry-after` where it is there, else with growing pauses.',
  },
  upstream_overloaded: { means: 'The vendor is overloaded.', todo: 'Repeat with growing pauses.' },
  upstream_unavailable: {
    means: 'The vendor could not be reached, or refused the operator’s credentials.',
    todo: 'Repeat with growing pauses; if it lasts, tell the operator the request id.',
  },
  upstream_failed: {
    means: 'The vendor answered with an error, or broke off.',
    todo: 'Repeat. What was delivered before is charged as [charges](charging.md) says.',
  },
  upstream_timeout: {
    means: 'The vendor did not answer, or did not go on, in time.',
    todo: 'Repeat. Streaming, or a lower `max_tokens`, makes it less likely.',
  },
};

const ours = {
  overloaded: {
    means: 'Too many calls are under way here, or in your account. Nothing was executed.',
    todo: 'Repeat after `retry-after`, with fewer calls at once.',
  },
  service_unavailable: {
    means: 'A part of this Tollgate cannot be reached, or it is about to stop.',
    todo: 'Repeat after `retry-after`. With an `Idempotency-Key` a repeat is never charged twice.',
  },
  deadline_exceeded: {
    means: 'A time limit of ours ended the request.',
    todo: 'Repeat. With an `Idempotency-Key` a repeat is never charged twice.',
  },
  cancelled: { means: 'The caller closed the connection; it is seen in logs and records only.', todo: 'Nothing.' },
  unimplemented: { means: 'This version does not offer that.', todo: 'Leave it out, or ask the operator for an update.' },
  internal: { means: 'A fault of ours.', todo: 'Repeat once; if it stays, tell the operator the request id.' },
};

const hidden = {
  peer_not_permitted: {
    means: 'A process of this Tollgate called another that does not allow it.',
    todo: 'The operator finds the cause in the log, by the request id.',
  },
  actor_refused: {
    means: 'A process of this Tollgate called another without a valid proof of the user for whom it acts.',
    todo: 'Sign in again. If that does not help, the operator finds the cause in the log, by the request id.',
  },
  hold_closed: { means: 'The hold of the call had ended before it was used.', todo: 'Repeat.' },
  call_closed: {
    means: 'The call was on record as lost before its end was reported.',
    todo: 'Look at the usage record for what was charged.',
  },
};

const users = {
  sign_in_refused: {
    means: 'Whoever tried to sign in did not show who they are. It never says which part was wrong.',
    todo: 'Check address and password.',
  },
  sign_in_throttled: { means: 'Too many attempts failed.', todo: 'Wait for `retry-after`.' },
  session_unknown: { means: 'The session has ended.', todo: 'Sign in again.' },
  code_refused: {
    means: 'There is no such redemption code, or it is used, void or expired. It never says which.',
    todo: 'Compare it with what you were given, or ask whoever gave it to you.',
  },
  code_throttled: { means: 'Too many redemption codes of this account were refused.', todo: 'Wait for `retry-after`.' },
  role_not_permitted: { means: 'The person’s role does not allow this.', todo: 'Ask an owner or admin of the account.' },
};

/** All of it by reason. A reason without advice does not compile. */
export const adviceOf: Readonly<Record<Reason, Advice>> = {
  ...request,
  ...caller,
  ...models,
  ...money,
  ...upstreams,
  ...ours,
  ...hidden,
  ...users,
};

/** What callers of the two formats meet. */
export const callerGroups: readonly AdviceGroup[] = [
  { title: 'The request', reasons: namesOf(request) },
  { title: 'The key', reasons: namesOf(caller) },
  { title: 'The model', reasons: namesOf(models) },
  { title: 'Money', reasons: namesOf(money) },
  { title: 'The vendor', reasons: namesOf(upstreams) },
  { title: 'Tollgate itself', reasons: namesOf(ours) },
];

/** What callers are told as `internal`. */
export const hiddenGroup: AdviceGroup = { title: 'What is told as internal', reasons: namesOf(hidden) };

/** What only people in the console meet. */
export const consoleGroup: AdviceGroup = { title: 'In the console', reasons: namesOf(users) };

function namesOf(advices: Partial<Record<Reason, Advice>>): Reason[] {
  return Object.keys(advices) as Reason[];
}
