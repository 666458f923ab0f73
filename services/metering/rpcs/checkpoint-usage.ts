// Notes the usage so far of calls in flight and renews their holds at the ledger.
import { hasReason } from '#client/errors/app-error.js';
import { callContext, type CallContext } from '#client/call-context.js';
import type { CheckpointRequest_Item } from '#proto/ledger/v1/ledger.js';
import {
  type CheckpointUsageRequest,
  type CheckpointUsageRequest_Item,
  type CheckpointUsageResponse,
  UsageSource,
} from '#proto/metering/v1/metering.js';
import { chargeFor } from '#rules/pricing.js';
import type { RpcDeps } from '../deps.js';
import { isLedgerAway } from '../settlement/ledger-outage.js';
import { type OpenCall, putOpenCalls } from '../store/open-calls.js';
import { isFreeIfLost } from '#rules/outcomes.js';
import { requireThat, requireTokens, validateCall } from '../requests/validate-call.js';
import { validateUsage } from '../requests/validate-usage.js';

const itemsMax = 10_000;

/**
 * A call is open until it is on record or its hold has ended: then nothing is set aside for it any more, and every further
 * token would be at our expense. While the ledger is away, what is on record here decides alone and calls go on. A call that
 * is malformed could never be recorded, so it must end too; it does not keep those beside it from being noted.
 */
export async function checkpointUsage(
  request: CheckpointUsageRequest,
  _context: CallContext,
  deps: RpcDeps,
): Promise<CheckpointUsageResponse> {
  requireThat(request.items.length <= itemsMax, 'items', `must be at most ${itemsMax}`);
  const nowMs = deps.clock.nowMs();
  const items = request.items.map((item) => openCallOf(item, nowMs, deps.log));
  const calls = items.filter((item) => item !== undefined);
  requireThat(new Set(calls.map(({ call }) => call.id)).size === calls.length, 'items', 'must name each call once');
  if (calls.length === 0) return { open: items.map(() => false) };
  const recorded = await putOpenCalls(deps.db, calls, nowMs + deps.config.leaseMs);
  const running = calls.filter(({ call }) => !recorded.has(call.id));
  const unheld = await renewHolds(running, deps);
  return { open: items.map((item) => item !== undefined && !recorded.has(item.call.id) && !unheld.has(item.call.id)) };
}

/** The ids of those calls whose holds turn out to have ended. */
async function renewHolds(calls: readonly OpenCall[], { config, ledger, log, outage }: RpcDeps): Promise<Set<string>> {
  if (calls.length === 0) return new Set();
  const items = calls.map((call) => checkpointOf(call, config.holdTtlMs));
  try {
    const { renewed } = await ledger.checkpoint({ items }, callContext({ caller: 'metering', timeoutMs: config.checkpointTimeoutMs }));
    outage.ended();
    return new Set(calls.filter((_, index) => renewed[index] === false).map(({ call }) => call.id));
  } catch (error) {
    if (isLedgerAway(error)) outage.began(error);
    else log.error({ err: error, calls: calls.length }, 'the ledger could not note checkpoints');
    return new Set();
  }
}

/** The call as it may be stored; undefined when it is malformed, which is a fault of ours that operators must hear of. */
function openCallOf(item: CheckpointUsageRequest_Item, nowMs: number, log: RpcDeps['log']): OpenCall | undefined {
  try {
    const call = validateCall(item.call);
    const { tokens } = validateUsage(requireTokens(item.tokens, 'tokens'), UsageSource.USAGE_SOURCE_ESTIMATED, call.outputCapTokens);
    return { call, tokens, lastSeenAtMs: nowMs };
  } catch (error) {
    if (!hasReason(error, 'invalid_request')) throw error;
    log.error({ err: error, call_id: item.call?.id }, 'a call in flight is malformed and can never be recorded; it must end');
    return undefined;
  }
}

/** The cost is what the ledger captures if nobody ever settles. */
function checkpointOf({ call, tokens }: OpenCall, ttlMs: number): CheckpointRequest_Item {
  const costSoFarNanoUsd = isFreeIfLost(call.streaming) ? 0n : chargeFor(tokens, call.price).chargeNanoUsd;
  return { holdId: call.id, accountId: call.accountId, costSoFarNanoUsd, ttlMs };
}
