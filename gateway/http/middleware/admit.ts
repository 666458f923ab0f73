// Bounds the calls in flight, in total and per account.
import type { Context, Middleware, Next } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import type { Occupancy } from '../occupancy.js';
import { stateOf } from '../request-state.js';

/** The limits of admission. */
export interface AdmissionOptions {
  readonly callsMax: number;
  /** Lower than the total, so that one account cannot lock out the others. */
  readonly callsPerAccountMax: number;
  readonly occupancy: Pick<Occupancy, 'calls' | 'callsOf' | 'countCall'>;
}

const retryAfterMs = 1000;

/**
 * Creates the middleware, one instance for all routes that it bounds together, after the one that authenticates the key. A call counts from
 * before its body is read until its end.
 */
export function admit({ callsMax, callsPerAccountMax, occupancy }: AdmissionOptions): Middleware {
  return async (ctx: Context, next: Next) => {
    const { accountId } = stateOf(ctx).key!;
    if (occupancy.calls() >= callsMax)
      throw new AppError('overloaded', 'The gateway has reached its maximum number of calls in flight. Try again shortly.', {
        retryAfterMs,
      });
    if (occupancy.callsOf(accountId) >= callsPerAccountMax) {
      throw new AppError(
        'overloaded',
        `Your account has ${callsPerAccountMax} calls in flight, which is the maximum. Try again when some have ended.`,
        { retryAfterMs },
      );
    }
    occupancy.countCall(accountId, 1);
    try {
      await next();
    } finally {
      occupancy.countCall(accountId, -1);
    }
  };
}
