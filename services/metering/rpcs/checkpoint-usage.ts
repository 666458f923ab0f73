// CheckpointUsage: stores the usage so far of calls in flight and renews their holds at the ledger.
import { hasReason } from '#client/errors/app-error.js';
import { callContext, type CallContext } from '#client/call-context.js';
import type { CheckpointRequest_Item } from '#proto/ledger/v1/ledger.js';
import {
  type CheckpointUsageRequest,
  type CheckpointUsageRequest_Item,
  type CheckpointUsageResponse,
  UsageSource,
} from '#proto/metering/v1/metering.js';
import { chargeFor } from '#rules/money/pricing.js';
import type { RpcDeps } from '../deps.js';
import { isLedgerUnavailable } from '../settlement/ledger-outage.js';
import { holdFaults } from '../records/require-hold.js';
import { deleteOpenCalls, type OpenCall, putOpenCalls } from '../store/records/open-calls.js';
import { isFreeIfLost } from '#rules/money/outcomes.js';
import { requireHash, requireThat, requireTokens, validateCall } from '../requests/validate-call.js';
import { validateUsage } from '../requests/validate-usage.js';

const itemsMax = 10_000;

/**
 * Returns which calls are open. A call is open until it is on record or its hold has ended: then nothing is set aside for it any more, and
 * we would pay for every further token. While the ledger is unavailable, only the local records decide and calls continue. A malformed call
 * could never be recorded, so it must end too; the other calls of the request are stored. Raises invalid_request.
 */
export async function checkpointUsage(
  request: CheckpointUsageRequest,
  context: CallContext,
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
  await deleteUnheld(
    running.filter(({ call }) => unheld.has(call.id)),
    context,
    deps,
  );
  return { open: items.map((item) => item !== undefined && !recorded.has(item.call.id) && !unheld.has(item.call.id)) };
}

/** Returns the ids of the calls whose holds have ended. */
async function renewHolds(calls: readonly OpenCall[], { config, ledger, log, outage }: RpcDeps): Promise<Set<string>> {
  if (calls.length === 0) return new Set();
  const items = calls.map((call) => checkpointOf(call, config.holdTtlMs));
  try {
    const { renewed } = await ledger.checkpoint({ items }, callContext({ caller: 'metering', timeoutMs: config.checkpointTimeoutMs }));
    outage.ended();
    return new Set(calls.filter((_, index) => renewed[index] === false).map(({ call }) => call.id));
  } catch (error) {
    if (isLedgerUnavailable(error)) outage.began(error);
    else log.error({ err: error, calls: calls.length }, 'the ledger could not record checkpoints');
    return new Set();
  }
}

/**
 * Deletes the checkpoints of a registered caller's calls that cannot be charged to a hold. The lease sweeper would otherwise record these calls as lost,
 * and charge them regardless of the limits of the key and of budgets.
 */
async function deleteUnheld(calls: readonly OpenCall[], context: CallContext, deps: RpcDeps): Promise<void> {
  const faults = await holdFaults(
    calls.map(({ call }) => call),
    context,
    deps,
  );
  await deleteOpenCalls(deps.db, [...faults.keys()]);
}

/** Returns the call as it may be stored; undefined if it is malformed, which is our own bug and is logged for operators. */
function openCallOf(item: CheckpointUsageRequest_Item, nowMs: number, log: RpcDeps['log']): OpenCall | undefined {
  try {
    const call = validateCall(item.call);
    const { tokens } = validateUsage(requireTokens(item.tokens), UsageSource.USAGE_SOURCE_ESTIMATED, call);
    const { retryKeyHash } = item;
    if (retryKeyHash !== undefined) requireHash(retryKeyHash, 'retry_key_hash');
    return { call, tokens, lastSeenAtMs: nowMs, retryKeyHash };
  } catch (error) {
    if (!hasReason(error, 'invalid_request')) throw error;
    log.error({ err: error, call_id: item.call?.id }, 'a call in flight is malformed and can never be recorded; it must end');
    return undefined;
  }
}

/** Returns the checkpoint of a call. Its cost is what the ledger captures if the call is never settled. */
function checkpointOf({ call, tokens }: OpenCall, ttlMs: number): CheckpointRequest_Item {
  const costSoFarNanoUsd = isFreeIfLost(call.streaming) ? 0n : chargeFor(tokens, call.price).chargeNanoUsd;
  return { holdId: call.id, accountId: call.accountId, costSoFarNanoUsd, ttlMs };
}
