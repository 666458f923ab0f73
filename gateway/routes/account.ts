// GET /v1/key: what this key may still spend. GET /v1/usage/{request id}: what one call cost, or why it was refused.
import type { Context, Middleware } from 'koa';
import { AppError, hasReason } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { isId } from '#kit/id.js';
import { type CallContext, callContext } from '#client/call-context.js';
import type { Key } from '#proto/auth/v1/auth.js';
import type { CallDeps } from '../call/metered-call.js';
import { renderKey } from '../render/key.js';
import { renderRefusal } from '../render/refusal.js';
import { renderUsageRecordAlone } from '../render/usage.js';
import { stateOf } from '../http/request-state.js';

/** Returns the limits, spent, held and remaining amounts of the calling key, its project, the budgets that it counts in, and the balance of its account. */
export function getKey({ peers, config, clock }: CallDeps): Middleware {
  return async (ctx: Context) => {
    const { key: ofState, project, budgets = [], accountTimeZone: timeZone = '' } = stateOf(ctx);
    const key = ofState!;
    const { accountId } = key;
    const context = callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs });
    const [{ balance }, { keys }, { budgets: spend }] = await Promise.all([
      peers.ledger.getBalance({ accountId }, context),
      peers.ledger.listKeySpend({ accountId, keyIds: [key.id] }, context),
      budgets.length === 0 ? { budgets: [] } : peers.ledger.listBudgetSpend({ accountId, budgets: [...budgets], timeZone }, context),
    ]);
    ctx.set('cache-control', 'no-store');
    ctx.body = renderKey({ key, project: project!, budgets }, { balance: balance!, key: keys[0], budgets: spend }, clock.nowMs());
  };
}

/** Returns the usage record of a call of this key or its project, or its refusal: a project's keys must not show more than its members may see. */
export function getUsage({ peers, config }: CallDeps): Middleware {
  return async (ctx: Context) => {
    const key = stateOf(ctx).key!;
    const callId = String(ctx['params'].id);
    if (!isId('req', callId)) {
      throw new AppError(
        'invalid_request',
        'The request id must be "req_" followed by 32 hexadecimal digits, as in the x-request-id header of every response.',
        { details: { field: 'id' } },
      );
    }
    ctx.set('cache-control', 'no-store');
    ctx.body = await recordOrRefusal(callId, key, peers.metering, () => callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs }));
  };
}

async function recordOrRefusal(
  requestId: string,
  { id: keyId, accountId, projectId }: Pick<Key, 'id' | 'accountId' | 'projectId'>,
  metering: CallDeps['peers']['metering'],
  context: () => CallContext,
): Promise<object> {
  // A key can be moved to another project, and still shows its earlier calls.
  const mayShow = (call: { readonly keyId: string; readonly projectId: string } | undefined): boolean =>
    call !== undefined && (call.keyId === keyId || call.projectId === projectId);
  const recorded = await found(metering.getUsageRecord({ callId: requestId, accountId }, context()));
  if (mayShow(recorded?.record!.call)) return renderUsageRecordAlone(recorded!.record!);
  const refused = await found(metering.getRefusal({ requestId, accountId }, context()));
  if (mayShow(refused?.refusal)) return renderRefusal(refused!.refusal!);
  throw fault('no_such_id', { what: 'usage_record' });
}

/** Returns undefined for an object that does not exist. */
async function found<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (hasReason(error, 'not_found')) return undefined;
    throw error;
  }
}
