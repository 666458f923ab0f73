// Renders an error thrown by a route, once, in the caller's format, and notes refused calls.
import type { Context, Middleware, Next } from 'koa';
import { type AppError, toAppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import type { Refusals } from '../../refusals/refusals.js';
import { UnusableKeyError } from '../../replicas/keys.js';
import { printable } from '../printable.js';
import { stateOf } from '../request-state.js';

/** Creates the middleware. */
export function errors(log: Logger, refusals: Pick<Refusals, 'note' | 'count'>): Middleware {
  return async (ctx: Context, next: Next) => {
    try {
      await next();
    } catch (error) {
      const state = stateOf(ctx);
      const { requestId, dialect } = state;
      const shown = toAppError(error);
      state.failure = shown;
      if (shown.reason === 'internal') log.error({ err: error, request_id: requestId }, 'a request failed with an internal error');
      if (ctx.res.headersSent) {
        // A stream renders its own errors in band; at this point the only correct option left is to close the connection.
        ctx.res.destroy();
        return;
      }
      const { status, body, headers } = dialect.error(shown, requestId);
      noteRefusal(ctx, shown, status, refusals);
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
    }
  };
}

/** Notes the refusal of a call that will have no usage record. A client that disconnected was not refused. */
function noteRefusal(ctx: Context, error: AppError, httpStatus: number, refusals: Pick<Refusals, 'note' | 'count'>): void {
  const { requestId, endpoint, requestedModel, isAdmitted, key } = stateOf(ctx);
  if (endpoint === undefined || isAdmitted === true || error.reason === 'cancelled') return;
  const owner = key ?? (error instanceof UnusableKeyError ? error.key : undefined);
  if (owner === undefined) return refusals.count(error);
  refusals.note({
    requestId,
    key: owner,
    endpoint,
    requestedModel,
    error,
    httpStatus,
    clientRequestId: printable(ctx.get('x-request-id')),
  });
}
