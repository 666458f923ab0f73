// Bounds the calls under way, and lets none begin while the gateway stops.
import type { Context, Middleware, Next } from 'koa';
import { AppError } from '#kit/errors/app-error.js';

/** Creates the middleware, one for all routes that it bounds together. A call counts from before its body is read to its end. */
export function admit(options: { callsMax: number; isDraining(): boolean }): Middleware {
  const { callsMax, isDraining } = options;
  let underWay = 0;
  return async (_ctx: Context, next: Next) => {
    if (isDraining()) throw new AppError('service_unavailable', 'This gateway is stopping. Try again.', { retryAfterMs: 1000 });
    if (underWay >= callsMax) {
      throw new AppError('overloaded', 'The gateway has as many calls in flight as it may. Try again shortly.', { retryAfterMs: 1000 });
    }
    underWay += 1;
    try {
      await next();
    } finally {
      underWay -= 1;
    }
  };
}
