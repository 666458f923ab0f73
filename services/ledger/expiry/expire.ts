// Ends holds whose expiry has passed. Safe with any number of replicas: each hold is checked again under its account's lock.
import type { Waiter } from '#kit/scheduling/batch-lane.js';
import type { RpcDeps } from '../deps.js';
import type { ExpireOperation, HoldRecord } from '../books/model.js';
import { isOfOneOperation } from '../lane/operation-lane.js';
import { performAll } from '../lane/perform.js';
import type { HoldName } from '../store/reads.js';

/**
 * Ends at most `limit` holds, the longest expired first. An account that cannot be written does not delay the others, however many of its holds have
 * expired. Returns the holds that this call ended. Raises those errors of the lane that concern all accounts.
 */
export async function expireHolds(limit: number, waiter: Waiter | undefined, deps: RpcDeps): Promise<HoldRecord[]> {
  const expiredAtMs = deps.clock.nowMs() - deps.config.clockSkewMs;
  const expired: HoldRecord[] = [];
  const stuckAccounts = new Set<string>();
  for (let isLast = false; !isLast;) {
    const stuckBefore = stuckAccounts.size;
    const room = limit - expired.length;
    const names = await deps.reads.expiredHolds(expiredAtMs, [...stuckAccounts], room);
    expired.push(...(await expireNamed(names, expiredAtMs, stuckAccounts, waiter, deps)));
    isLast = names.length < room || expired.length === limit || stuckAccounts.size === stuckBefore || stuckAccounts.size >= limit;
  }
  return expired;
}

/** Ends these holds, and adds the accounts that cannot be written to `stuckAccounts`. */
async function expireNamed(
  names: readonly HoldName[],
  expiredAtMs: number,
  stuckAccounts: Set<string>,
  waiter: Waiter | undefined,
  deps: RpcDeps,
): Promise<HoldRecord[]> {
  const firstOfAccounts = new Map<string, ExpireOperation>();
  const others: ExpireOperation[] = [];
  for (const name of names) {
    const operation: ExpireOperation = { kind: 'expire', ...name, expiredAtMs };
    if (firstOfAccounts.has(name.accountId)) others.push(operation);
    else firstOfAccounts.set(name.accountId, operation);
  }
  // One hold per account goes first. If it cannot be written, the account's other holds would fail too, each after several tries
  // that delay every other account.
  const ahead = await expireEach([...firstOfAccounts.values()], stuckAccounts, waiter, deps);
  const rest = await expireEach(
    others.filter(({ accountId }) => !stuckAccounts.has(accountId)),
    stuckAccounts,
    waiter,
    deps,
  );
  return [...ahead, ...rest];
}

async function expireEach(
  operations: readonly ExpireOperation[],
  stuckAccounts: Set<string>,
  waiter: Waiter | undefined,
  deps: RpcDeps,
): Promise<HoldRecord[]> {
  const expired: HoldRecord[] = [];
  const outcomes = await performAll(operations, waiter, deps);
  for (const [index, outcome] of outcomes.entries()) {
    const { accountId, holdId } = operations[index]!;
    if (outcome.status === 'fulfilled') {
      const { value } = outcome;
      if (value.refusal === undefined && value.reply.hold !== undefined) expired.push(value.reply.hold);
    } else {
      if (!isOfOneOperation(outcome.reason)) throw outcome.reason;
      stuckAccounts.add(accountId);
      deps.log.error({ err: outcome.reason, account_id: accountId, hold_id: holdId }, 'the expired holds of an account could not be ended');
    }
  }
  return expired;
}
