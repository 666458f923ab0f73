// Derives the verdict on a target from the end of an attempt. Pure.
import { hasReason } from '#client/errors/app-error.js';
import { isUnconnected } from '../upstreams/http/transport-error.js';
import { isCallsMaxReached, VendorRefusal } from '../upstreams/upstream-failure.js';

/**
 * `success`: the target works, though it may have rejected the caller's request. `refusal`: its vendor limits the rate. `rejection`: its vendor
 * does not accept our credential. `overload`: it failed, and may say when to call again. `none`: the end has another cause, for example that
 * the client disconnected.
 */
export type Verdict = 'success' | 'failure' | 'refusal' | 'rejection' | 'overload' | 'none';

/** Returns the verdict on a target whose attempt ended with this error. */
export function verdictOf(error: unknown): Verdict {
  if (isUnsent(error)) return 'none';
  if (hasReason(error, 'upstream_rejected', 'context_length_exceeded', 'body_too_large')) return 'success';
  if (hasReason(error, 'upstream_rate_limited')) return 'refusal';
  if (hasReason(error, 'upstream_overloaded')) return 'overload';
  if (isRejection(error)) return 'rejection';
  return hasReason(error, 'upstream_unavailable', 'upstream_failed', 'upstream_timeout') ? 'failure' : 'none';
}

/** Reports whether the vendor responded that our credential or our account there is at fault. A 404 is about the model. */
function isRejection(error: unknown): boolean {
  return hasReason(error, 'upstream_unavailable') && error.cause instanceof VendorRefusal && error.cause.status !== 404;
}

/** Reports whether another target may succeed where this one failed: the failure is not caused by the request itself. */
export function isRetryable(error: unknown): boolean {
  const verdict = verdictOf(error);
  return (verdict !== 'success' && verdict !== 'none') || isUnsent(error);
}

/** Reports whether the attempt ended before its request was sent: the upstream has its maximum of calls, or its format cannot express the request. */
export function isUnsent(error: unknown): boolean {
  return isCallsMaxReached(error) || hasReason(error, 'unsupported_field');
}

/** Reports whether the vendor does not count the attempt: its request was not sent, or no connection could be made. */
export function isUncounted(error: unknown): boolean {
  return isUnsent(error) || isUnconnected(error);
}

/** Longest pause before a second attempt at the same target. */
const pauseMsMax = 2000;

/**
 * Returns how long to wait before the same target is tried again; undefined if a second attempt would fail as well or would cost the caller the time
 * limit again. `hasStatus`: whether the vendor responded; if it did, "unavailable" is a problem with our account there.
 */
export function pauseBeforeRetry(error: unknown, hasStatus: boolean, pauseMs: number): number | undefined {
  if (isUnsent(error) || !hasReason(error, 'upstream_failed', 'upstream_overloaded', 'upstream_unavailable', 'upstream_rate_limited'))
    return undefined;
  if (error.reason === 'upstream_unavailable' && hasStatus) return undefined;
  if (error.reason === 'upstream_rate_limited' && error.retryAfterMs === undefined) return undefined;
  const waitMs = Math.max(pauseMs, error.retryAfterMs ?? 0);
  return waitMs <= pauseMsMax ? waitMs : undefined;
}
