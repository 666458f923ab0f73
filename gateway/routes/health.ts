// GET /livez: the process is up. GET /readyz: calls can be served.
import type { Context, Middleware } from 'koa';
import type { SpoolState } from '../call/spool/spool.js';

/** Liveness. It never depends on anything else: restarting this process would not fix another one. */
export const livez: Middleware = async (ctx: Context) => {
  ctx.body = { status: 'ok' };
};

/** What readiness is determined from. */
export interface HealthDeps {
  readiness(): Promise<string[]>;
  spoolState(): Promise<SpoolState>;
  isDraining(): boolean;
}

/** Readiness: 200 if calls can be served, otherwise 503 with the missing parts. Includes what the spool holds, for operators. */
export function readyz({ readiness, spoolState, isDraining }: HealthDeps): Middleware {
  return async (ctx: Context) => {
    ctx.set('cache-control', 'no-store');
    const missing = isDraining() ? [] : await readiness();
    const isReady = missing.length === 0 && !isDraining();
    ctx.status = isReady ? 200 : 503;
    const { waiting, refused, damagedFiles } = await spoolState();
    const spool = waiting + refused + damagedFiles === 0 ? {} : { spool: { waiting, refused, damaged_files: damagedFiles } };
    ctx.body = { ...(isReady ? { status: 'ok' } : isDraining() ? { status: 'draining' } : { status: 'unavailable', missing }), ...spool };
  };
}
