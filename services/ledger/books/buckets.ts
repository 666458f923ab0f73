// What is free in a bucket. Pure.
import type { AccountBucket, KeyBucket } from './model.js';
import { noSums } from '../statements/months.js';

/** Maximum amount of one hold, cost, deposit or adjustment: far above any use, far below the 63 bits of a column. */
export const amountNanoUsdMax = 1_000_000_000_000_000_000n;

/** Maximum sum of credits of one account. */
export const creditedNanoUsdMax = 9_000_000_000_000_000_000n;

/** Returns the bucket of an account before its first entry. */
export function emptyAccount(accountId: string): AccountBucket {
  return { accountId, creditedNanoUsd: 0n, spentNanoUsd: 0n, heldNanoUsd: 0n, seq: 0n, sums: noSums };
}

/** Returns the bucket of a key before its first hold. */
export function emptyKey(accountId: string, keyId: string): KeyBucket {
  return { accountId, keyId, spentNanoUsd: 0n, heldNanoUsd: 0n, limitNanoUsd: undefined, limitVersion: -1n };
}

/** Returns what a new hold can use of the account's money. Never negative. */
export function accountAvailableNanoUsd(account: Pick<AccountBucket, 'creditedNanoUsd' | 'spentNanoUsd' | 'heldNanoUsd'>): bigint {
  return account.creditedNanoUsd - account.spentNanoUsd - account.heldNanoUsd;
}

/** Returns what a new hold can use of the key's limit; undefined when the key has none. A limit below the spend leaves nothing. */
export function keyAvailableNanoUsd(key: KeyBucket): bigint | undefined {
  if (key.limitNanoUsd === undefined) return undefined;
  const availableNanoUsd = key.limitNanoUsd - key.spentNanoUsd - key.heldNanoUsd;
  return availableNanoUsd > 0n ? availableNanoUsd : 0n;
}

/** Returns what is free in both the account and the key. */
export function freeInAllNanoUsd(account: AccountBucket, key: KeyBucket): bigint {
  return least(accountAvailableNanoUsd(account), keyAvailableNanoUsd(key) ?? accountAvailableNanoUsd(account));
}

/** Returns the smaller amount. */
export function least(aNanoUsd: bigint, bNanoUsd: bigint): bigint {
  return aNanoUsd < bNanoUsd ? aNanoUsd : bNanoUsd;
}
