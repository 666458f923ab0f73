// Notes the usage so far of calls in flight and renews their holds at the ledger.
import { callContext, type CallContext } from '#kit/rpc/call-context.js';
import type { CheckpointRequest_Item } from '#proto/ledger/v1/ledger.js';
import {
  type CheckpointUsageRequest,
  type CheckpointUsageRequest_Item,
  type CheckpointUsageResponse,
  UsageSource,
} from '#proto/metering/v1/metering.js';
import { chargeFor } from '../charge.js';
import type { RpcDeps } from '../deps.js';
import { isLedgerAway } from '../ledger-outage.js';
import { type OpenCall, putOpenCalls } from '../store/open-calls.js';
import { deliversNothingUntilRecorded } from '../usage-record.js';
import { requireThat, requireTokens, validateCall } from '../validate-call.js';
import { validateUsage } from '../validate-usage.js';

const itemsMax = 10_000;

/**
 * A call is open until it is on record or its hold has ended: then nothing is set aside for it any more, and every further
 * token would be at our expense. While the ledger is away, what is on record here decides alone and calls go on.
 */
export async function checkpointUsage(request: CheckpointUsageRequest, _context: CallContext, deps: RpcDeps): Promise<CheckpointUsageResponse> {
  requireThat(request.items.length <= itemsMax, 'items', `must be at most ${itemsMax}`);
  const nowMs = deps.clock.nowMs();
  const calls = request.items.map((item, index) => openCallOf(item, `items[${index}]`, nowMs));
  requireThat(new Set(calls.map(({ call }) => call.id)).size === calls.length, 'items', 'must name each call once');
  if (calls.length === 0) return { open: [] };
  const recorded = await putOpenCalls(deps.db, calls);
  const running = calls.filter(({ call }) => !recorded.has(call.id));
  const unheld = await renewHolds(running, deps);
  return { open: calls.map(({ call }) => !recorded.has(call.id) && !unheld.has(call.id)) };
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

function openCallOf(item: CheckpointUsageRequest_Item, field: string, nowMs: number): OpenCall {
  const call = validateCall(item.call, `${field}.call`);
  const { tokens } = validateUsage(requireTokens(item.tokens, `${field}.tokens`), UsageSource.USAGE_SOURCE_ESTIMATED, call.outputCapTokens);
  return { call, tokens, lastSeenAtMs: nowMs };
}

/** The cost is what the ledger captures if nobody ever settles. */
function checkpointOf({ call, tokens }: OpenCall, ttlMs: number): CheckpointRequest_Item {
  const costSoFarNanoUsd = deliversNothingUntilRecorded(call) ? 0n : chargeFor(tokens, call.price).chargeNanoUsd;
  return { holdId: call.id, accountId: call.accountId, costSoFarNanoUsd, ttlMs };
}
