// Computes the free amount of a bucket. Pure.
import type { AccountBucket, BudgetBucket, KeyBucket } from './model.js';
import { noSums } from '../statements/months.js';

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

/** Returns what a new hold can use of a limit; undefined when there is none. A limit below the spend leaves nothing. */
export function limitAvailableNanoUsd({
  limitNanoUsd,
  spentNanoUsd,
  heldNanoUsd,
}: Pick<KeyBucket, 'limitNanoUsd' | 'spentNanoUsd' | 'heldNanoUsd'>): bigint | undefined {
  if (limitNanoUsd === undefined) return undefined;
  const availableNanoUsd = limitNanoUsd - spentNanoUsd - heldNanoUsd;
  return availableNanoUsd > 0n ? availableNanoUsd : 0n;
}

/** Returns the amount that is free in the account, the key and every hard budget. */
export function freeInAllNanoUsd(account: AccountBucket, key: KeyBucket, budgets: readonly BudgetBucket[]): bigint {
  let freeNanoUsd = accountAvailableNanoUsd(account);
  freeNanoUsd = least(freeNanoUsd, limitAvailableNanoUsd(key) ?? freeNanoUsd);
  for (const budget of budgets) freeNanoUsd = least(freeNanoUsd, limitAvailableNanoUsd(budget) ?? freeNanoUsd);
  return freeNanoUsd;
}

/** Returns the smaller amount. */
export function least(aNanoUsd: bigint, bNanoUsd: bigint): bigint {
  return aNanoUsd < bNanoUsd ? aNanoUsd : bNanoUsd;
}
