// Hold: sets money aside in the account, the key and every budget on the path, or in none. Pure.
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { accountAvailableNanoUsd, emptyAccount, emptyKey, freeInAllNanoUsd, least, limitAvailableNanoUsd } from '../books/buckets.js';
import {
  type Applied,
  type BudgetBucket,
  type BudgetShare,
  type Changes,
  done,
  type HoldOperation,
  type HoldRecord,
  type HoldReply,
  type KeyBucket,
  type PathBudget,
  refused,
  type Touched,
} from '../books/model.js';
import { balanceEmpty, balanceHeld, budgetReached, holdClosed, keyLimitReached, mismatch } from '../books/refusals.js';
import { bucketsOfPath, budgetChanges, moved, noBudgets, projectShareOf } from '../budgets/buckets.js';

/** Grants as much as is free between the minimum and the requested amount, or refuses. See the outcome table in the README. */
export function applyHold(touched: Touched, operation: HoldOperation, nowMs: number): Applied<HoldReply> {
  if (touched.hold !== undefined) return repeat(touched.hold, touched.budgets, operation);
  const account = touched.account ?? emptyAccount(operation.accountId);
  const known = touched.key ?? emptyKey(operation.accountId, operation.keyId);
  const key = withNewerLimit(known, operation);
  const budgets = bucketsOfPath(operation.accountId, operation.budgets, touched.budgets);
  // Newer limits are kept on a refusal too: otherwise a caller with an older limit could still spend. An account that never had
  // money keeps no rows, so that unknown accounts cannot fill the table.
  const learnt = touched.account === undefined ? {} : learntOf(key === known ? undefined : key, budgets, touched.budgets, nowMs);

  const neededNanoUsd = operation.minAmountNanoUsd;
  const availableNanoUsd = accountAvailableNanoUsd(account);
  if (availableNanoUsd + account.heldNanoUsd < neededNanoUsd) return refused(balanceEmpty(account, neededNanoUsd), learnt);
  const keyLeftNanoUsd = limitAvailableNanoUsd(key);
  if (key.limitNanoUsd !== undefined && keyLeftNanoUsd !== undefined && keyLeftNanoUsd < neededNanoUsd) {
    return refused(keyLimitReached(key, key.limitNanoUsd, neededNanoUsd), learnt);
  }
  const short = shortBudget(budgets, neededNanoUsd);
  if (short !== undefined) {
    const { bucket, limitNanoUsd, index } = short;
    return refused(budgetReached(bucket, operation.budgets[index]!, limitNanoUsd, neededNanoUsd), learnt);
  }
  if (availableNanoUsd < neededNanoUsd) return refused(balanceHeld(account, neededNanoUsd), learnt);

  const amountNanoUsd = least(operation.amountNanoUsd, freeInAllNanoUsd(account, key, budgets));
  const hold: HoldRecord = {
    id: operation.holdId,
    accountId: operation.accountId,
    keyId: operation.keyId,
    amountNanoUsd,
    checkpointNanoUsd: 0n,
    capturedNanoUsd: 0n,
    shortfallNanoUsd: 0n,
    state: HoldState.HOLD_STATE_OPEN,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + operation.ttlMs,
    fingerprint: operation.fingerprint,
    lastSeq: 0n,
    refundedNanoUsd: 0n,
    chargeSeq: 0n,
    budgets: budgets.length === 0 ? noBudgets : budgets.map(({ scopeId }) => scopeId),
  };
  return done(
    { hold, replayed: false, projectShare: shareOf(operation, operation.budgets, budgets) },
    {
      account: { ...account, heldNanoUsd: account.heldNanoUsd + amountNanoUsd },
      key: { ...key, heldNanoUsd: key.heldNanoUsd + amountNanoUsd },
      ...budgetChanges(
        budgets.map((bucket) => moved(bucket, { heldNanoUsd: amountNanoUsd })),
        nowMs,
      ),
      hold,
    },
  );
}

function repeat(hold: HoldRecord, known: readonly BudgetBucket[], operation: HoldOperation): Applied<HoldReply> {
  if (hold.fingerprint === undefined) return refused(holdClosed(hold.id));
  if (hold.fingerprint !== operation.fingerprint) return refused(mismatch(hold.id));
  if (hold.state === HoldState.HOLD_STATE_RELEASED) return refused(holdClosed(hold.id));
  // The call counts in the periods in which it was held, which may have ended since.
  const path = operation.budgets.filter(({ scopeId }) => hold.budgets.includes(scopeId));
  return done({ hold, replayed: true, projectShare: shareOf(operation, path, bucketsOfPath(hold.accountId, path, known)) });
}

function shareOf(
  { withProjectShare }: HoldOperation,
  path: readonly PathBudget[],
  buckets: readonly BudgetBucket[],
): BudgetShare | undefined {
  return withProjectShare === true ? projectShareOf(path, buckets) : undefined;
}

/** Returns the first budget whose spend leaves too little, or else the first in which calls in flight hold too much; undefined if none is short. */
function shortBudget(
  budgets: readonly BudgetBucket[],
  neededNanoUsd: bigint,
): { bucket: BudgetBucket; limitNanoUsd: bigint; index: number } | undefined {
  let held: { bucket: BudgetBucket; limitNanoUsd: bigint; index: number } | undefined;
  for (const [index, bucket] of budgets.entries()) {
    const { limitNanoUsd } = bucket;
    if (limitNanoUsd === undefined || limitAvailableNanoUsd(bucket)! >= neededNanoUsd) continue;
    if (limitNanoUsd - bucket.spentNanoUsd < neededNanoUsd) return { bucket, limitNanoUsd, index };
    held ??= { bucket, limitNanoUsd, index };
  }
  return held;
}

/** Returns the rows that a newer limit or budget changed. */
function learntOf(key: KeyBucket | undefined, budgets: readonly BudgetBucket[], known: readonly BudgetBucket[], nowMs: number): Changes {
  const changed = budgets.filter((bucket) => !known.includes(bucket));
  return { ...(key === undefined ? {} : { key }), ...budgetChanges(changed, nowMs) };
}

function withNewerLimit(key: KeyBucket, operation: HoldOperation): KeyBucket {
  if (operation.limitVersion <= key.limitVersion) return key;
  return { ...key, limitNanoUsd: operation.limitNanoUsd, limitVersion: operation.limitVersion };
}
