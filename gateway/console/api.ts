// The console's API: the operations of the table as routes below /console/api. It owns no data; the services do.
import Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import type { ConsoleDeps } from './deps.js';
import { areas } from './operations/index.js';
import { sameSite } from './session/session.js';
import { addRoutes } from './table/router.js';

/** Returns the routes below /console/api. `call` serves a call in the chat-completions format once its key is known. */
export function consoleApi(deps: ConsoleDeps, call: readonly Middleware[]): Router {
  const router = new Router({ prefix: '/console/api' });
  router.use(noStore(), sameSite(deps.config));
  addRoutes(router, areas, {
    ...deps,
    serveCall: (ctx) => serve(call, ctx),
  });
  return router;
}

/** Keeps all responses out of caches. */
function noStore(): Middleware {
  return async (ctx: Context, next: Next) => {
    ctx.set({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    await next();
  };
}

async function serve([first, ...rest]: readonly Middleware[], ctx: Context): Promise<void> {
  await first?.(ctx as Parameters<Middleware>[0], () => serve(rest, ctx));
}
