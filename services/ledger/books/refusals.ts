// The ledger's refusals, in plain words with the amounts that a caller needs to act on them. Pure.
import { AppError } from '#client/errors/app-error.js';
import { formatUsd } from '#rules/money.js';
import { accountAvailableNanoUsd, keyAvailableNanoUsd } from './buckets.js';
import type { AccountBucket, KeyBucket } from './model.js';

/** When money held by calls in flight is worth another try: most calls end within a few seconds. */
const heldRetryAfterMs = 2000;

function usd(nanoUsd: bigint): string {
  return `$${formatUsd(nanoUsd)}`;
}

function accountDetails(account: AccountBucket, neededNanoUsd: bigint): Record<string, string> {
  return {
    needed_nano_usd: String(neededNanoUsd),
    available_nano_usd: String(accountAvailableNanoUsd(account)),
    held_nano_usd: String(account.heldNanoUsd),
    credited_nano_usd: String(account.creditedNanoUsd),
    spent_nano_usd: String(account.spentNanoUsd),
  };
}

/** The account has not got the money, calls in flight or not. */
export function balanceEmpty(account: AccountBucket, neededNanoUsd: bigint): AppError {
  return new AppError(
    'balance_empty',
    `The account balance is too low: ${usd(neededNanoUsd)} is needed and ${usd(accountAvailableNanoUsd(account))} is available. Add credit to the account.`,
    { details: accountDetails(account, neededNanoUsd) },
  );
}

/** The account has the money, but calls in flight hold it. */
export function balanceHeld(account: AccountBucket, neededNanoUsd: bigint): AppError {
  return new AppError(
    'balance_held',
    `The account balance is held by calls in flight: ${usd(neededNanoUsd)} is needed, ${usd(accountAvailableNanoUsd(account))} is available and ` +
      `${usd(account.heldNanoUsd)} is held. Try again when they have ended.`,
    { details: accountDetails(account, neededNanoUsd), retryAfterMs: heldRetryAfterMs },
  );
}

/** The key's lifetime limit does not allow it. Worth a retry only when calls in flight hold what is missing. */
export function keyLimitReached(key: KeyBucket, limitNanoUsd: bigint, neededNanoUsd: bigint): AppError {
  const availableNanoUsd = keyAvailableNanoUsd(key) ?? 0n;
  const held = key.heldNanoUsd > 0n ? ` and ${usd(key.heldNanoUsd)} held by calls in flight` : '';
  return new AppError(
    'key_limit_reached',
    `The spending limit of this key is reached: ${usd(neededNanoUsd)} is needed and ${usd(availableNanoUsd)} is left of ${usd(limitNanoUsd)}, ` +
      `with ${usd(key.spentNanoUsd)} spent${held}. Raise the limit or use another key.`,
    {
      details: {
        needed_nano_usd: String(neededNanoUsd),
        available_nano_usd: String(availableNanoUsd),
        held_nano_usd: String(key.heldNanoUsd),
        limit_nano_usd: String(limitNanoUsd),
        spent_nano_usd: String(key.spentNanoUsd),
      },
      ...(limitNanoUsd - key.spentNanoUsd >= neededNanoUsd ? { retryAfterMs: heldRetryAfterMs } : {}),
    },
  );
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
