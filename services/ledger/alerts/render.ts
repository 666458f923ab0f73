// Records as messages of the contract. Pure.
import { type Alert, type AlertDelivery, AlertDeliveryState } from '#proto/ledger/v1/alerts.js';
import { accountAvailableNanoUsd, emptyAccount } from '../books/buckets.js';
import type { AccountBucket } from '../books/model.js';
import type { AlertRecord, Delivery, Money } from './model.js';

/** Returns what an account has; zero before its first entry. */
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
    webhookUrl: alert?.webhookUrl ?? '',
    fired: alert?.fired ?? false,
    firedAtMs: BigInt(alert?.firedAtMs ?? 0),
    updatedAtMs: BigInt(alert?.updatedAtMs ?? 0),
  };
}

export function toDeliveryMessage(delivery: Delivery): AlertDelivery {
  const {
    id,
    accountId,
    eventId,
    isTest,
    channel,
    destination,
    state,
    attempts,
    outcome,
    thresholdNanoUsd,
    settledNanoUsd,
    availableNanoUsd,
    createdAtMs,
    dueAtMs,
  } = delivery;
  const hasEnded = state !== AlertDeliveryState.ALERT_DELIVERY_STATE_PENDING;
  return {
    id,
    accountId,
    eventId,
    test: isTest,
    channel,
    destination,
    state,
    attempts,
    lastResult: outcome,
    thresholdNanoUsd,
    settledNanoUsd,
    availableNanoUsd,
    createdAtMs: BigInt(createdAtMs),
    nextAttemptAtMs: hasEnded ? 0n : BigInt(dueAtMs),
    endedAtMs: hasEnded ? BigInt(dueAtMs) : 0n,
  };
}
