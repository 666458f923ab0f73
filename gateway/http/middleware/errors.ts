// Renders an error thrown by a route, once, in the caller's format.
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
      if (shown.reason === 'internal') log.error({ err: error, request_id: requestId }, 'a request failed with an internal error');
      if (ctx.res.headersSent) {
        // A stream renders its own errors in band; at this point the only correct option left is to close the connection.
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
