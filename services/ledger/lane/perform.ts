// Runs operations through the lane, and logs every part of a cost that no account pays.
import type { Waiter } from '#kit/scheduling/batch-lane.js';
import { EntryKind } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import type { Applied, Operation, ReplyTo } from '../books/model.js';
import { operationsMax } from '../store/store.js';

type PerformDeps = Pick<RpcDeps, 'lane' | 'log'>;

/**
 * Executes one operation, and returns its reply once it is durable. Passes the reply to `onApplied` if it is known before. Raises the
 * operation's refusal, and what the lane raises.
 */
export async function perform<O extends Operation>(
  operation: O,
  waiter: Waiter,
  deps: PerformDeps,
  onApplied?: (reply: ReplyTo<O>) => void,
): Promise<ReplyTo<O>> {
  const applied = await performOne(operation, waiter, deps, onApplied);
  if (applied.refusal !== undefined) throw applied.refusal;
  return applied.reply;
}

/**
 * Executes operations in order, and returns the outcome of each. At most as many as one transaction takes are in the lane at a time,
 * so that a long list leaves room for others. Without a waiter they are executed however long that takes.
 */
export async function performAll<O extends Operation>(
  operations: readonly O[],
  waiter: Waiter | undefined,
  deps: PerformDeps,
): Promise<PromiseSettledResult<Applied<ReplyTo<O>>>[]> {
  const outcomes: PromiseSettledResult<Applied<ReplyTo<O>>>[] = [];
  for (let start = 0; start < operations.length; start += operationsMax) {
    const some = operations.slice(start, start + operationsMax);
    outcomes.push(...(await Promise.allSettled(some.map((operation) => performOne(operation, waiter, deps)))));
  }
  return outcomes;
}

async function performOne<O extends Operation>(
  operation: O,
  waiter: Waiter | undefined,
  deps: PerformDeps,
  onApplied?: (reply: ReplyTo<O>) => void,
): Promise<Applied<ReplyTo<O>>> {
  // The lane carries operations of every kind; each reply has the type that matches its operation.
  const reportEarly = (early: Applied<ReplyTo<Operation>>): void => {
    if (early.refusal === undefined) onApplied?.(early.reply as ReplyTo<O>);
  };
  const applied = (await deps.lane.add(operation, waiter, onApplied && reportEarly)) as Applied<ReplyTo<O>>;
  logShortfalls(applied, deps.log);
  return applied;
}

/** Logs every part of a cost that could not be captured. */
export function logShortfalls(outcome: Applied<unknown>, log: PerformDeps['log']): void {
  for (const entry of outcome.changes.entries ?? []) {
    if (entry.kind !== EntryKind.ENTRY_KIND_SHORTFALL) continue;
    log.warn(
      { account_id: entry.accountId, key_id: entry.keyId, hold_id: entry.reference, shortfall_nano_usd: String(entry.amountNanoUsd) },
      'a call cost more than could be captured; the rest is booked as an expense of the operator',
    );
  }
}
