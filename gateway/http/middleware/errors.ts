// Renders whatever a route threw, once, in the caller's dialect.
import type { Context, Middleware, Next } from 'koa';
import { toAppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { stateOf } from '../request-state.js';

/** Creates the middleware. */
export function errors(log: Logger): Middleware {
  return async (ctx: Context, next: Next) => {
    try {
      await next();
    } catch (error) {
      const { requestId, dialect } = stateOf(ctx);
      const shown = toAppError(error);
      if (shown.reason === 'internal') log.error({ err: error, request_id: requestId }, 'request failed for a reason of ours');
      if (ctx.res.headersSent) {
        // A stream renders its own errors in band; here the only honest thing left is to break the connection off.
        ctx.res.destroy();
        return;
      }
      const { status, body, headers } = dialect.error(shown, requestId);
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
    }
  };
}
