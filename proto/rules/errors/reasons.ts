// The closed list of reasons for errors, each with its gRPC status. Callers branch only on these.
import { Status } from '#client/errors/status.js';

/** Every reason, its gRPC status and, in one line, what it means. */
export const reasons = {
  // What the caller sent.
  /** A field is missing, malformed or out of range; details.field names it. */
  invalid_request: Status.INVALID_ARGUMENT,
  /** A field that would change the answer is not supported here; details.field names it. */
  unsupported_field: Status.INVALID_ARGUMENT,
  /** The conversation is longer than the model's context. */
  context_length_exceeded: Status.INVALID_ARGUMENT,
  /** The body is larger than the limit in details.limit_bytes, or than the upstream takes. */
  body_too_large: Status.INVALID_ARGUMENT,
  /** The client sent the body too slowly. Nothing was executed. */
  upload_too_slow: Status.DEADLINE_EXCEEDED,
  /** The id or idempotency key was used before with other parameters. */
  idempotency_mismatch: Status.ALREADY_EXISTS,
  /** The thing named does not exist; details.what says which kind. */
  not_found: Status.NOT_FOUND,
  /** The path belongs to a vendor's API and is not offered; details.nearest names what is. */
  not_offered: Status.NOT_FOUND,
  /** Another call runs under this idempotency key; worth a retry. */
  idempotency_in_progress: Status.ABORTED,
  /** The call of this idempotency key is on record and charged, but its answer cannot be given again. */
  idempotency_answer_gone: Status.FAILED_PRECONDITION,
  /** It exists already. */
  already_exists: Status.ALREADY_EXISTS,
  /** Its present state does not allow this. */
  failed_precondition: Status.FAILED_PRECONDITION,
  /** The HTTP method is not offered on this path. */
  method_not_allowed: Status.UNIMPLEMENTED,

  // The identity of the caller.
  /** No platform key was sent. */
  key_missing: Status.UNAUTHENTICATED,
  /** The text that was sent does not have the form of a platform key. */
  key_malformed: Status.UNAUTHENTICATED,
  /** No such key. */
  key_unknown: Status.UNAUTHENTICATED,
  key_revoked: Status.UNAUTHENTICATED,
  key_disabled: Status.PERMISSION_DENIED,
  key_expired: Status.UNAUTHENTICATED,
  account_suspended: Status.PERMISSION_DENIED,
  /** The key may not use this model. */
  model_not_permitted: Status.PERMISSION_DENIED,
  /** The key may not be used from the client's network address. */
  address_not_permitted: Status.PERMISSION_DENIED,
  /** This process may not call this RPC. */
  peer_not_permitted: Status.PERMISSION_DENIED,

  // Users of the console.
  /** The sign-in failed. The message does not say why, so that it does not reveal which users exist. */
  sign_in_refused: Status.UNAUTHENTICATED,
  /** Too many failed attempts. Carries a retry delay. */
  sign_in_throttled: Status.RESOURCE_EXHAUSTED,
  /** The session has ended or does not exist. */
  session_unknown: Status.UNAUTHENTICATED,
  /** The user's role does not allow this. */
  role_not_permitted: Status.PERMISSION_DENIED,
  /** The caller needs the proof of an acting user for this RPC, and sent none or one that is not valid. */
  actor_refused: Status.UNAUTHENTICATED,

  // Models.
  model_unknown: Status.NOT_FOUND,
  /** The model has no price in force; it is refused, never free. */
  model_unpriced: Status.FAILED_PRECONDITION,
  /** The model has no upstreams, or all of them are disabled or drained. */
  model_unavailable: Status.UNAVAILABLE,
  /** An operator has paused the model. details carry until, if an end is known. */
  model_paused: Status.UNAVAILABLE,

  // Money. details carry available_nano_usd, held_nano_usd, needed_nano_usd and, for a key, limit_nano_usd and spent_nano_usd.
  balance_empty: Status.FAILED_PRECONDITION,
  /** The balance would suffice, were it not for calls in flight; worth a retry. */
  balance_held: Status.FAILED_PRECONDITION,
  key_limit_reached: Status.FAILED_PRECONDITION,
  /** A budget of the key, its project or its account is spent. */
  budget_reached: Status.FAILED_PRECONDITION,
  /** The hold has ended (or was released before it arrived). */
  hold_closed: Status.FAILED_PRECONDITION,
  /** There is no such redemption code, or it is used, void or expired. Only the account that used it learns which. */
  code_refused: Status.FAILED_PRECONDITION,
  /** Too many redemption codes of this account were refused; a retry can succeed after the given delay. */
  code_throttled: Status.RESOURCE_EXHAUSTED,
  /** The call was already recorded, as lost. */
  call_closed: Status.FAILED_PRECONDITION,

  // Rate limits. details carry scope, limit, max, used and needed.
  /** A limit of the key, the account or the model within the account is reached; a retry can succeed after the given delay. */
  rate_limited: Status.RESOURCE_EXHAUSTED,

  // Upstreams.
  /** The upstream refused the request itself; the message says why and is safe to relay. */
  upstream_rejected: Status.INVALID_ARGUMENT,
  upstream_rate_limited: Status.RESOURCE_EXHAUSTED,
  /** The upstream says that it is overloaded, or it has reached its maximum number of calls in flight. */
  upstream_overloaded: Status.UNAVAILABLE,
  /** The upstream could not be reached, or rejected the operator's credentials. */
  upstream_unavailable: Status.UNAVAILABLE,
  /** The upstream answered with an error or broke off. */
  upstream_failed: Status.UNAVAILABLE,
  upstream_timeout: Status.DEADLINE_EXCEEDED,

  // The installation itself.
  /** Too much is queued; nothing was executed. */
  overloaded: Status.RESOURCE_EXHAUSTED,
  /** A service of ours cannot be reached; the outcome is unknown. */
  service_unavailable: Status.UNAVAILABLE,
  deadline_exceeded: Status.DEADLINE_EXCEEDED,
  cancelled: Status.CANCELLED,
  unimplemented: Status.UNIMPLEMENTED,
  internal: Status.INTERNAL,
} as const satisfies Record<string, Status>;

/** One of the closed list. */
export type Reason = keyof typeof reasons;

/** Whether a string from the wire is a reason that this version knows. */
export function isReason(value: string): value is Reason {
  return Object.hasOwn(reasons, value);
}
