// GET /v1/key: what this key may still spend. GET /v1/usage/{request id}: what one call cost.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { isId } from '#kit/id.js';
import { callContext } from '#client/call-context.js';
import type { CallDeps } from '../call/metered-call.js';
import { renderKey } from '../render/key.js';
import { renderUsageRecordAlone } from '../render/usage.js';
import { stateOf } from '../http/request-state.js';

/** Returns the limits, spent, held and remaining amounts of the calling key, and the balance of its account. */
export function getKey({ peers, config, clock }: CallDeps): Middleware {
  return async (ctx: Context) => {
    const key = stateOf(ctx).key!;
    const context = callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs });
    const [{ balance }, { keys }] = await Promise.all([
      peers.ledger.getBalance({ accountId: key.accountId }, context),
      peers.ledger.listKeySpend({ accountId: key.accountId, keyIds: [key.id] }, context),
    ]);
    ctx.set('cache-control', 'no-store');
    ctx.body = renderKey(key, balance!, keys[0], clock.nowMs());
  };
}

/** Returns the usage record of a call of this key's account. */
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
    const { record } = await peers.metering.getUsageRecord(
      { callId, accountId: key.accountId },
      callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs }),
    );
    ctx.set('cache-control', 'no-store');
    ctx.body = renderUsageRecordAlone(record!);
  };
}
