// Alerts and their deliveries as JSON. Amounts are decimal-string USD. Pure.
import { type Notification, NotificationChannel } from '#proto/auth/v1/notifications.js';
import type { Alert as AlertMessage, GetAlertResponse } from '#proto/ledger/v1/alerts.js';
import { formatUsd } from '#rules/money.js';
import type { Alert, AlertNow, Delivery } from '../schemas/alerts.js';
import type { BalanceNow } from '../schemas/billing.js';
import { words } from './words.js';

const instant = (ms: bigint): string | null => (ms === 0n ? null : new Date(Number(ms)).toISOString());

/** Returns the host of a webhook, for members who may not change it: the path of many webhooks is their only secret. */
function hostOf(url: string): string {
  return `${new URL(url).origin}/…`;
}

/** Renders an alert; one without a threshold was never set. `isWhole` includes the path of its webhook. */
export function renderAlert(alert: AlertMessage, isWhole = true): Alert {
  return {
    enabled: alert.enabled,
    threshold_usd: alert.thresholdNanoUsd === 0n ? null : formatUsd(alert.thresholdNanoUsd),
    emails: alert.emails,
    webhook_url: alert.webhookUrl === '' ? null : isWhole ? alert.webhookUrl : hostOf(alert.webhookUrl),
    fired: alert.fired,
    fired_at: instant(alert.firedAtMs),
    updated_at: instant(alert.updatedAtMs),
  };
}

/** Renders an alert and the balance that it watches. */
export function renderAlertNow(
  { alert, settledNanoUsd, availableNanoUsd, low, rearmAtNanoUsd }: GetAlertResponse,
  { isWhole, mailConfigured }: { isWhole: boolean; mailConfigured: boolean },
): AlertNow {
  return {
    ...renderAlert(alert!, isWhole),
    settled_usd: formatUsd(settledNanoUsd),
    available_usd: formatUsd(availableNanoUsd),
    low,
    rearm_at_usd: rearmAtNanoUsd === 0n ? null : formatUsd(rearmAtNanoUsd),
    mail_configured: mailConfigured,
  };
}

/** Renders the fields that the low-balance banner needs in addition to the balance. */
export function renderLow({ alert, low }: GetAlertResponse): Pick<BalanceNow, 'low' | 'threshold_usd'> {
  return { low, threshold_usd: alert!.enabled && alert!.thresholdNanoUsd !== 0n ? formatUsd(alert!.thresholdNanoUsd) : null };
}

/** The event of an alert's notifications (docs/alerts.md). */
type AlertEvent = { readonly id: string } & (
  | ({ readonly type: 'balance.low' | 'balance.low.test' } & Pick<Delivery, 'threshold_usd' | 'settled_usd' | 'available_usd'>)
  | ({ readonly type: 'key.refused' } & NonNullable<Delivery['refused_key']>)
  | ({ readonly type: 'budget.reached'; readonly budget_id: string } & Omit<NonNullable<Delivery['budget']>, 'id'>)
);

type Figures = Pick<Delivery, 'threshold_usd' | 'settled_usd' | 'available_usd' | 'budget' | 'refused_key'>;
const noFigures: Figures = { threshold_usd: null, settled_usd: null, available_usd: null, budget: null, refused_key: null };

function figuresOf(event: AlertEvent): Figures {
  switch (event.type) {
    case 'budget.reached': {
      const { budget_id: id, scope, scope_id, period, percent, limit_usd, spent_usd } = event;
      return { ...noFigures, budget: { id, scope, scope_id, period, percent, limit_usd, spent_usd } };
    }
    case 'key.refused': {
      const { key_id, project_id, reason } = event;
      return { ...noFigures, refused_key: { key_id, project_id, reason } };
    }
    default: {
      const { threshold_usd, settled_usd, available_usd } = event;
      return { ...noFigures, threshold_usd, settled_usd, available_usd };
    }
  }
}

/** Renders one message to one destination; without `isWhole` only the host of a webhook is included. */
export function renderDelivery(notification: Notification, isWhole: boolean): Delivery {
  const { channel, destination } = notification;
  const event = JSON.parse(notification.eventJson) as AlertEvent;
  return {
    id: notification.id,
    event_id: event.id,
    test: event.type === 'balance.low.test',
    channel: words.alertChannel.of(channel),
    destination: isWhole || channel !== NotificationChannel.NOTIFICATION_CHANNEL_WEBHOOK ? destination : hostOf(destination),
    state: words.deliveryState.of(notification.state),
    attempts: notification.attempts,
    outcome: notification.lastResult,
    ...figuresOf(event),
    created_at: instant(notification.createdAtMs),
    next_attempt_at: instant(notification.nextAttemptAtMs),
    ended_at: instant(notification.endedAtMs),
  };
}
