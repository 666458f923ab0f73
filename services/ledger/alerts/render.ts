// Records as messages of the contract. Pure.
import type { Alert } from '#proto/ledger/v1/alerts.js';
import { accountAvailableNanoUsd, emptyAccount } from '../books/buckets.js';
import type { AccountBucket } from '../books/model.js';
import type { AlertRecord, Money } from './model.js';

/** Returns the money of an account; zero before its first entry. */
export function moneyOf(accountId: string, bucket: AccountBucket | undefined): Money {
  const account = bucket ?? emptyAccount(accountId);
  return { settledNanoUsd: account.creditedNanoUsd - account.spentNanoUsd, availableNanoUsd: accountAvailableNanoUsd(account) };
}

/** Returns an account's alert; a disabled one if it was never set. */
export function toAlertMessage(accountId: string, alert: AlertRecord | undefined): Alert {
  return {
    accountId,
    enabled: alert?.enabled ?? false,
    thresholdNanoUsd: alert?.thresholdNanoUsd ?? 0n,
    emails: [...(alert?.emails ?? [])],
    language: alert?.language ?? 'en',
    fired: alert?.fired ?? false,
    firedAtMs: BigInt(alert?.firedAtMs ?? 0),
    updatedAtMs: BigInt(alert?.updatedAtMs ?? 0),
  };
}
