// Runs operations through the store and tells operators what they must know: whatever we pay ourselves.
import { EntryKind } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from './deps.js';
import type { Applied, Operation, ReplyTo } from './model.js';
import { operationsMax } from './store/store.js';

type PerformDeps = Pick<RpcDeps, 'store' | 'clock' | 'log'>;

/** Does one operation in a transaction of its own. Raises its refusal. */
export async function perform<O extends Operation>(operation: O, deps: PerformDeps): Promise<ReplyTo<O>> {
  const [applied] = await performAll([operation], deps);
  if (applied!.refusal !== undefined) throw applied!.refusal;
  return applied!.reply;
}

/** Does operations in order, as many in one transaction as the store takes, and gives each its own outcome. */
export async function performAll<O extends Operation>(operations: readonly O[], deps: PerformDeps): Promise<Applied<ReplyTo<O>>[]> {
  const outcomes: Applied<ReplyTo<O>>[] = [];
  for (let start = 0; start < operations.length; start += operationsMax) {
    const applied = await deps.store.execute(operations.slice(start, start + operationsMax), deps.clock.nowMs());
    for (const outcome of applied) logShortfalls(outcome, deps);
    outcomes.push(...applied);
  }
  return outcomes;
}

function logShortfalls(outcome: Applied<unknown>, { log }: PerformDeps): void {
  for (const entry of outcome.changes.entries ?? []) {
    if (entry.kind !== EntryKind.ENTRY_KIND_SHORTFALL) continue;
    log.warn(
      { account_id: entry.accountId, key_id: entry.keyId, hold_id: entry.reference, shortfall_nano_usd: String(entry.amountNanoUsd) },
      'a call cost more than could be captured; the rest is booked as our expense',
    );
  }
}
