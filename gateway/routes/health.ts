// GET /livez: the process is up. GET /readyz: calls can be served.
import type { Context, Middleware } from 'koa';
import { newId } from '#kit/id.js';
import { callContext } from '#kit/rpc/call-context.js';
import type { CallDeps } from '../metered-call.js';
import type { KeyReplica } from '../replicas/keys.js';

const checkTimeoutMs = 1000;
/** A readiness answer is kept this long, so that probes cannot load the services. */
const keptMs = 250;

/** Liveness never depends on anything else: restarting this process cures no other. */
export const livez: Middleware = async (ctx: Context) => {
  ctx.body = { status: 'ok' };
};

/** Readiness: 200 when calls can be served, else 503 with the parts that are missing. */
export function readyz(deps: CallDeps & { keys: KeyReplica; isDraining(): boolean }): Middleware {
  const { peers, models, keys, clock, isDraining } = deps;
  // Any account will do: the ledger answers zero for one that it does not know.
  const probeAccountId = newId('acct');
  let kept: { atMs: number; missing: Promise<string[]> } | undefined;

  async function missing(): Promise<string[]> {
    const context = callContext({ caller: 'gateway', timeoutMs: checkTimeoutMs });
    const isReached = (answer: Promise<unknown>): Promise<boolean> => answer.then(() => true, () => false);
    const [ledger, metering] = await Promise.all([
      isReached(peers.ledger.getBalance({ accountId: probeAccountId }, context)),
      isReached(peers.metering.getOutbox({}, context)),
    ]);
    const parts: Record<string, boolean> = { auth: keys.isLive(), 'catalog and inference': models.isReady(), ledger, metering };
    return Object.keys(parts).filter((name) => !parts[name]);
  }

  return async (ctx: Context) => {
    ctx.set('cache-control', 'no-store');
    if (isDraining()) {
      ctx.status = 503;
      ctx.body = { status: 'draining' };
      return;
    }
    const nowMs = clock.nowMs();
    if (kept === undefined || nowMs - kept.atMs >= keptMs) kept = { atMs: nowMs, missing: missing() };
    const names = await kept.missing;
    ctx.status = names.length === 0 ? 200 : 503;
    ctx.body = names.length === 0 ? { status: 'ok' } : { status: 'unavailable', missing: names };
  };
}
