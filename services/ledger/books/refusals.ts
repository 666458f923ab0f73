// The ledger's refusals, in plain words with the amounts that a caller needs to act on them. Pure.
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { accountAvailableNanoUsd, keyAvailableNanoUsd } from './buckets.js';
import type { AccountBucket, KeyBucket } from './model.js';

/** When money held by calls in flight is worth another try: most calls end within a few seconds. */
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

/** The account does not have the money, even without the calls in flight. */
export function balanceEmpty(account: AccountBucket, neededNanoUsd: bigint): AppError {
  const details = accountDetails(account, neededNanoUsd);
  return fault('balance_needed', details, { details });
}

/** The account has the money, but calls in flight hold it. */
export function balanceHeld(account: AccountBucket, neededNanoUsd: bigint): AppError {
  const details = accountDetails(account, neededNanoUsd);
  return fault('balance_needed_held', details, { details, retryAfterMs: heldRetryAfterMs });
}

/** The key's lifetime limit does not allow it. Worth a retry only when calls in flight hold what is missing. */
export function keyLimitReached(key: KeyBucket, limitNanoUsd: bigint, neededNanoUsd: bigint): AppError {
  const details = {
    needed_nano_usd: neededNanoUsd,
    available_nano_usd: keyAvailableNanoUsd(key) ?? 0n,
    held_nano_usd: key.heldNanoUsd,
    limit_nano_usd: limitNanoUsd,
    spent_nano_usd: key.spentNanoUsd,
  };
  const retry = limitNanoUsd - key.spentNanoUsd >= neededNanoUsd ? { retryAfterMs: heldRetryAfterMs } : {};
  return fault(key.heldNanoUsd > 0n ? 'key_limit_held' : 'key_limit_needed', details, retry);
}

/** The id was executed before with other parameters. */
export function mismatch(what: string): AppError {
  return new AppError('idempotency_mismatch', `${what} was used before with other parameters. Nothing was changed.`);
}

/** The hold has ended, or was released before it arrived. */
export function holdClosed(holdId: string): AppError {
  return new AppError('hold_closed', `The hold ${holdId} was released and can no longer be used.`);
}

/** The hold is so old that it may have been settled and archived, in which case its cost would be taken a second time. */
export function holdArchived(holdId: string): AppError {
  return new AppError('hold_closed', `The hold ${holdId} is older than what is kept; whether it was settled is in the archive.`);
}
