// The messages of one event, one for each destination. Pure but for the ids.
import { newId } from '#kit/id.js';
import { AlertChannel, AlertDeliveryState } from '#proto/ledger/v1/alerts.js';
import type { AlertRecord, Delivery, Money } from './model.js';

/** Returns one message per destination; `dueAtMs` is when they are sent first. */
export function messagesOf(alert: AlertRecord, event: { money: Money; isTest: boolean; nowMs: number; dueAtMs: number }): Delivery[] {
  const { money, isTest, nowMs, dueAtMs } = event;
  const eventId = newId('evt', nowMs);
  const destinations = [
    ...alert.emails.map((destination) => ({ channel: AlertChannel.ALERT_CHANNEL_MAIL, destination })),
    ...(alert.webhookUrl === '' ? [] : [{ channel: AlertChannel.ALERT_CHANNEL_WEBHOOK, destination: alert.webhookUrl }]),
  ];
  return destinations.map(({ channel, destination }) => ({
    id: newId('adl', nowMs),
    accountId: alert.accountId,
    eventId,
    isTest,
    channel,
    destination,
    state: AlertDeliveryState.ALERT_DELIVERY_STATE_PENDING,
    attempts: 0,
    outcome: '',
    thresholdNanoUsd: alert.thresholdNanoUsd,
    ...money,
    createdAtMs: nowMs,
    dueAtMs,
  }));
}
