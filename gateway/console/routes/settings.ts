// What the pages must know of how this gateway is set up.
import type { Context, Middleware } from 'koa';
import type { ConsoleDeps } from '../deps.js';

/** GET settings: for whoever is signed in. */
export function getSettings({ config }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    ctx.body = { trace_url: config.traceUrl ?? null };
  };
}
