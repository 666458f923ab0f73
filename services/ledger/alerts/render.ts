// Records as messages of the contract. Pure.
import { type Alert, type AlertDelivery, AlertDeliveryState } from '#proto/ledger/v1/alerts.js';
import type { AlertRecord, Delivery } from './model.js';

/** An account's alert; of one that was never set, one that is off. */
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
  const { id, accountId, eventId, isTest, channel, destination, state, attempts, outcome, thresholdNanoUsd, availableNanoUsd, createdAtMs, dueAtMs } = delivery;
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
    outcome,
    thresholdNanoUsd,
    availableNanoUsd,
    createdAtMs: BigInt(createdAtMs),
    nextAttemptAtMs: hasEnded ? 0n : BigInt(dueAtMs),
    endedAtMs: hasEnded ? BigInt(dueAtMs) : 0n,
  };
}
