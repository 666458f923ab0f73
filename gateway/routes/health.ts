// GET /livez: the process is up. GET /readyz: calls can be served.
import type { Context, Middleware } from 'koa';

/** Liveness never depends on anything else: restarting this process cures no other. */
export const livez: Middleware = async (ctx: Context) => {
  ctx.body = { status: 'ok' };
};

/** Readiness: 200 when calls can be served, else 503 with the parts that are missing. */
export function readyz({ readiness, isDraining }: { readiness(): Promise<string[]>; isDraining(): boolean }): Middleware {
  return async (ctx: Context) => {
    ctx.set('cache-control', 'no-store');
    const missing = isDraining() ? [] : await readiness();
    const isReady = missing.length === 0 && !isDraining();
    ctx.status = isReady ? 200 : 503;
    ctx.body = isReady ? { status: 'ok' } : isDraining() ? { status: 'draining' } : { status: 'unavailable', missing };
  };
}
