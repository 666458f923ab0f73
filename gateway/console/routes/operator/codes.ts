// Redemption codes, for operators.
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { parseUsd } from '#rules/money.js';
import { CreateRedemptionCodesRequest, ListRedemptionCodesRequest, RedemptionCodeState } from '#proto/ledger/v1/ledger.js';
import { noteAudit } from '../../audit.js';
import { contextOf } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { pageOf, queryText } from '../../paging.js';
import { redemptionBodies } from '../../redemption-bodies.js';
import { renderCode } from '../../render/statement.js';
import { orNull } from '../../render/values.js';
import { visitorOf } from '../../session.js';
import { assertConfirmed } from './confirm.js';

/** Adds the routes below `base`, behind what lets in operators alone. */
export function codeRoutes(router: Router, base: string, deps: ConsoleDeps): void {
  router.get(`${base}/codes`, listCodes(deps));
  router.post(`${base}/codes`, createCodes(deps));
  router.post(`${base}/codes/:id/void`, voidCodes(deps));
}

const states: ReadonlyMap<string, RedemptionCodeState> = new Map([
  ['', RedemptionCodeState.REDEMPTION_CODE_STATE_UNSPECIFIED],
  ['open', RedemptionCodeState.REDEMPTION_CODE_STATE_OPEN],
  ['claimed', RedemptionCodeState.REDEMPTION_CODE_STATE_CLAIMED],
  ['redeemed', RedemptionCodeState.REDEMPTION_CODE_STATE_REDEEMED],
  ['void', RedemptionCodeState.REDEMPTION_CODE_STATE_VOID],
]);

/** GET operator/codes?state=…&batch=… */
function listCodes(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const state = states.get(queryText(ctx, 'state'));
    if (state === undefined)
      throw new AppError('invalid_request', `state: must be one of ${[...states.keys()].filter(Boolean).join(', ')}`, {
        details: { field: 'state' },
      });
    const request = ListRedemptionCodesRequest.fromPartial({ ...pageOf(ctx), state, batchId: queryText(ctx, 'batch') });
    const { codes, nextPageToken } = await deps.peers.ledger.listRedemptionCodes(request, contextOf(deps));
    const nowMs = deps.clock.nowMs();
    ctx.body = { data: codes.map((code) => renderCode(code, nowMs)), next: orNull(nextPageToken) };
  };
}

/** POST operator/codes: the codes are in this answer and nowhere else, ever. */
function createCodes(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const body = await redemptionBodies.create(ctx);
    const { user } = visitorOf(ctx);
    const request = CreateRedemptionCodesRequest.fromPartial({
      batchId: newId('batch'),
      amountNanoUsd: parseUsd(body.amount_usd)!,
      count: body.count ?? 1,
      note: body.note ?? '',
      createdBy: user.email,
      ...(body.expires_at == null ? {} : { expiresAtMs: aheadMs(body.expires_at, deps.clock.nowMs()) }),
    });
    const { amountNanoUsd, count } = request;
    if (amountNanoUsd === 0n) throw new AppError('invalid_request', 'amount_usd: must be above zero', { details: { field: 'amount_usd' } });
    // A batch gives away what its codes are worth together.
    assertConfirmed(amountNanoUsd * BigInt(count), body, deps);
    const { codes, secrets } = await deps.peers.ledger.createRedemptionCodes(request, contextOf(deps));
    const { amount_usd, expires_at = null, note = null } = body;
    await noteAudit(ctx, deps, {
      accountId: '',
      action: 'code.create',
      targetId: request.batchId,
      detail: { amount_usd, count: codes.length, expires_at, note },
    });
    const nowMs = deps.clock.nowMs();
    ctx.status = 201;
    ctx.body = {
      batch_id: request.batchId,
      data: codes.map((code, index) => ({ ...renderCode(code, nowMs), code: secrets[index] ?? null })),
    };
  };
}

/** POST operator/codes/{id}/void: a code, or all of a batch that nobody has redeemed. */
function voidCodes(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const id = String(ctx['params'].id);
    const { voided } = await deps.peers.ledger.voidRedemptionCodes({ id }, contextOf(deps));
    if (voided > 0) await noteAudit(ctx, deps, { accountId: '', action: 'code.void', targetId: id, detail: { voided } });
    ctx.body = { voided };
  };
}

function aheadMs(text: string, nowMs: number): bigint {
  const ms = Date.parse(text);
  if (!(ms > nowMs)) throw new AppError('invalid_request', 'expires_at: must be in the future', { details: { field: 'expires_at' } });
  return BigInt(ms);
}
