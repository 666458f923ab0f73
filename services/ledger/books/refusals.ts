// The ledger's refusals, with the amounts that a caller needs to act on them. Pure.
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { isoIn, periodBounds } from '../budgets/calendar.js';
import { periodNames, scopeNames } from '../budgets/names.js';
import { accountAvailableNanoUsd, limitAvailableNanoUsd } from './buckets.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import type { AccountBucket, BudgetBucket, CorrectedEntry, Corrections, KeyBucket, PathBudget } from './model.js';

/** When to retry if calls in flight hold the money: most calls end within a few seconds. */
const heldRetryAfterMs = 2000;

function accountDetails(account: AccountBucket, neededNanoUsd: bigint) {
  return {
    needed_nano_usd: String(neededNanoUsd),
    available_nano_usd: String(accountAvailableNanoUsd(account)),
    held_nano_usd: String(account.heldNanoUsd),
    credited_nano_usd: String(account.creditedNanoUsd),
    spent_nano_usd: String(account.spentNanoUsd),
  };
}

/** Returns the refusal when the account lacks the money, even if no calls were in flight. */
export function balanceEmpty(account: AccountBucket, neededNanoUsd: bigint): AppError {
  const details = accountDetails(account, neededNanoUsd);
  return fault('balance_needed', details, { details });
}

/** Returns the refusal when the account has the money, but calls in flight hold it. */
export function balanceHeld(account: AccountBucket, neededNanoUsd: bigint): AppError {
  const details = accountDetails(account, neededNanoUsd);
  return fault('balance_needed_held', details, { details, retryAfterMs: heldRetryAfterMs });
}

/** Returns the refusal when less is available than is to be removed from the account. */
export function debitTooLarge(account: AccountBucket, neededNanoUsd: bigint): AppError {
  const details = accountDetails(account, neededNanoUsd);
  return fault(account.heldNanoUsd > 0n ? 'debit_too_large_held' : 'debit_too_large', details, { details });
}

/** Returns the refusal when more of an entry is to be reversed than is left of it. `more` are further details. */
export function notLeftOfEntry(
  { seq }: CorrectedEntry,
  leftNanoUsd: bigint,
  corrections: Corrections | undefined,
  more: Readonly<Record<string, string>> = {},
): AppError {
  const details = { ...more, left_nano_usd: String(leftNanoUsd) };
  if (leftNanoUsd > 0n) return fault('reversal_too_large', { seq, ...details }, { details });
  return fault('nothing_left', { seq, corrections: corrections?.seqs.join(', ') ?? '' }, { details });
}

/** Returns the refusal when another amount is left of an entry than the caller expected. */
export function entryChanged({ seq }: CorrectedEntry, leftNanoUsd: bigint): AppError {
  const details = { left_nano_usd: String(leftNanoUsd) };
  return fault('entry_changed', { seq, ...details }, { details });
}

/** Returns the refusal when an entry was reversed before, with other parameters. */
export function alreadyReversed({ seq }: CorrectedEntry, reversal: Entry): AppError {
  return fault('already_reversed', { seq, reversal: reversal.seq });
}

/** Returns the refusal when the key's lifetime limit is reached. Retryable only when calls in flight hold what is missing. */
export function keyLimitReached(key: KeyBucket, limitNanoUsd: bigint, neededNanoUsd: bigint): AppError {
  const details = {
    needed_nano_usd: neededNanoUsd,
    available_nano_usd: limitAvailableNanoUsd(key) ?? 0n,
    held_nano_usd: key.heldNanoUsd,
    limit_nano_usd: limitNanoUsd,
    spent_nano_usd: key.spentNanoUsd,
  };
  const { suffix, retry } = limitFault(key, limitNanoUsd, neededNanoUsd);
  return fault(`key_limit_${suffix}`, details, retry);
}

/** Returns the refusal when a budget is reached, with the budget and when its next period begins. Retryable only when calls in flight hold what is missing. */
export function budgetReached(bucket: BudgetBucket, budget: PathBudget, limitNanoUsd: bigint, neededNanoUsd: bigint): AppError {
  const { budgetId, scope, ownerId, period, start, timeZone } = budget;
  const figures = {
    needed_nano_usd: neededNanoUsd,
    available_nano_usd: limitAvailableNanoUsd(bucket) ?? 0n,
    held_nano_usd: bucket.heldNanoUsd,
    limit_nano_usd: limitNanoUsd,
    spent_nano_usd: bucket.spentNanoUsd,
    scope: scopeNames[scope]!.name,
    period: periodNames[period]!,
  };
  const named = { budget_id: budgetId, scope_id: ownerId };
  const { suffix, retry } = limitFault(bucket, limitNanoUsd, neededNanoUsd);
  const bounds = periodBounds(period, timeZone, start);
  if (bounds === undefined) return fault(`lifetime_budget_${suffix}`, figures, { details: named, ...retry });
  const resets = { resets_at: isoIn(timeZone, bounds.untilMs) };
  const details = { ...named, time_zone: timeZone || 'UTC' };
  return fault(`budget_${suffix}`, { ...figures, ...resets }, { details, ...retry });
}

/** Returns the suffix of the refusal's name, and when to retry. Waiting helps only if what calls in flight hold would be enough. */
function limitFault({ heldNanoUsd, spentNanoUsd }: KeyBucket | BudgetBucket, limitNanoUsd: bigint, neededNanoUsd: bigint) {
  if (limitNanoUsd - spentNanoUsd >= neededNanoUsd) return { suffix: 'held', retry: { retryAfterMs: heldRetryAfterMs } } as const;
  return { suffix: heldNanoUsd > 0n ? 'short' : 'needed', retry: {} } as const;
}

/** Returns the refusal of an idempotency key that was used before with different parameters. */
export function keyUsed(key: string): AppError {
  return fault('idempotency_key_used', { key });
}

/** Returns the refusal of an id that was executed before with different parameters. */
export function mismatch(id: string): AppError {
  return fault('id_mismatch', { id });
}

/** Returns the refusal for a hold that has ended, or was released before it arrived. */
export function holdClosed(holdId: string): AppError {
  return new AppError('hold_closed', `The hold ${holdId} was released and can no longer be used.`);
}

/** Returns the refusal to charge a call whose hold the ledger does not know. */
export function holdUnknown(holdId: string): AppError {
  const message = `The hold ${holdId} is unknown; nothing was charged. Record the call with metering, which settles it.`;
  return new AppError('not_found', message, { details: { what: 'hold' } });
}

/** Returns the refusal for a hold so old that it may have been settled and archived, so that its cost could be charged twice. */
export function holdArchived(holdId: string): AppError {
  return new AppError('hold_closed', `The hold ${holdId} is older than the retention; check the archive for its settlement.`);
}
