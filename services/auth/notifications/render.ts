// Stored notifications as messages of the contract. Pure.
import { type Notification, NotificationState } from '#proto/auth/v1/notifications.js';
import type { StoredNotification } from './model.js';
import { bytesOf, createdAtMs } from './store.js';

export function toNotificationMessage(notification: StoredNotification): Notification {
  const { id, accountId = '', channel, destination, state, attempts, outcome, eventJson, dueAtMs, endpointId = '' } = notification;
  const isPending = state === NotificationState.NOTIFICATION_STATE_PENDING;
  return {
    id,
    accountId,
    channel,
    destination,
    state,
    attempts,
    lastResult: outcome,
    eventJson,
    createdAtMs: BigInt(createdAtMs(bytesOf(id))),
    nextAttemptAtMs: isPending ? BigInt(dueAtMs) : 0n,
    endedAtMs: isPending ? 0n : BigInt(dueAtMs),
    endpointId,
  };
}
