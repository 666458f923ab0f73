// GET /livez: the process is up. GET /readyz: calls can be served.
import type { Context, Middleware } from 'koa';
import type { SpoolState } from '../call/recording/spool/spool.js';
import type { KeyReplica } from '../replicas/keys.js';
import type { ModelReplica } from '../replicas/models.js';

/** Liveness. It never depends on anything else: restarting this process would not fix another one. */
export const livez: Middleware = async (ctx: Context) => {
  ctx.body = { status: 'ok' };
};

/** What readiness is determined from. */
export interface HealthDeps {
  readiness(): Promise<string[]>;
  spoolState(): Promise<SpoolState>;
  warnings(): Promise<string[]>;
  isDraining(): boolean;
  readonly keys: Pick<KeyReplica, 'feed'>;
  readonly models: Pick<ModelReplica, 'feed'>;
}

/**
 * Readiness: 200 if calls can be served, otherwise 503 with the missing parts. Includes, for operators, the services without which calls are served
 * from a copy (`degraded`), problems to fix soon (`warnings`), and what the spool holds.
 */
export function readyz({ readiness, spoolState, warnings, isDraining, keys, models }: HealthDeps): Middleware {
  return async (ctx: Context) => {
    ctx.set('cache-control', 'no-store');
    const missing = isDraining() ? [] : await readiness();
    const isReady = missing.length === 0 && !isDraining();
    const degraded = Object.entries({ auth: keys, catalog: models }).flatMap(([name, copy]) => (copy.feed().live ? [] : [name]));
    const ready = { status: 'ok', ...(degraded.length === 0 ? {} : { degraded }) };
    ctx.status = isReady ? 200 : 503;
    const { waiting, refused, damagedFiles } = await spoolState();
    const spool = waiting + refused + damagedFiles === 0 ? {} : { spool: { waiting, refused, damaged_files: damagedFiles } };
    const found = await warnings();
    const warned = found.length === 0 ? {} : { warnings: found };
    ctx.body = { ...(isReady ? ready : isDraining() ? { status: 'draining' } : { status: 'unavailable', missing }), ...warned, ...spool };
  };
}
