// Bounds how often a key may have tokens counted: counting is free, but takes CPU.
import type { Context, Middleware, Next } from 'koa';
import { fault } from '#client/errors/fault.js';
import { retryAfterSeconds } from '../../formats/error-details.js';
import { stateOf } from '../request-state.js';

const minuteMs = 60_000;
/** Beyond this many keys in one minute, the oldest are forgotten. */
const keysMax = 10_000;

/** Creates the middleware, after the one that authenticates the key. The counts of a key are spread over the minute by the generic cell rate algorithm. */
export function countRate(countsPerMinuteMax: number, nowMs: () => number = () => performance.now()): Middleware {
  const intervalMs = minuteMs / countsPerMinuteMax;
  /** When each key will have paid for its counts so far. */
  const paidAtMs = new Map<string, number>();
  return async (ctx: Context, next: Next) => {
    const { id } = stateOf(ctx).key!;
    const now = nowMs();
    const paid = Math.max(now, paidAtMs.get(id) ?? 0) + intervalMs;
    if (paid - now > minuteMs) {
      const retryAfterMs = Math.max(1000, Math.ceil(paid - now - minuteMs));
      throw fault(
        'key_counts',
        { max: countsPerMinuteMax, seconds: retryAfterSeconds(retryAfterMs) },
        { retryAfterMs, details: { scope: 'key', limit: 'count_tokens_per_minute', max: String(countsPerMinuteMax) } },
      );
    }
    paidAtMs.delete(id);
    paidAtMs.set(id, paid);
    if (paidAtMs.size > keysMax) paidAtMs.delete(paidAtMs.keys().next().value!);
    await next();
  };
}
