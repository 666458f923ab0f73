// Bounds how often a key may have tokens counted: counting is free, but takes CPU.
import type { Context, Middleware, Next } from 'koa';
import type { Limiter } from '../../limits/limiter.js';
import { stateOf } from '../request-state.js';

/** Creates the middleware, after the one that authenticates the key. All threads, and with Redis all gateways, count together. */
export function countRate(countsPerMinuteMax: number, limiter: Pick<Limiter, 'admitCount'>): Middleware {
  return async (ctx: Context, next: Next) => {
    await limiter.admitCount(stateOf(ctx).key!.id, countsPerMinuteMax);
    await next();
  };
}
