// Alerts and their deliveries as JSON. Amounts are decimal-string USD. Pure.
import type { Notification } from '#proto/auth/v1/notifications.js';
import type { Alert as AlertMessage, GetAlertResponse } from '#proto/ledger/v1/alerts.js';
import { formatUsd } from '#rules/money/money.js';
import type { WebhookBody } from '#rules/webhook-events.js';
import type { Alert, AlertNow, Delivery } from '../schemas/alerts.js';
import type { BalanceNow } from '../schemas/billing.js';
import { words } from './words.js';

/** Returns an instant; null for 0. */
export const instant = (ms: bigint): string | null => (ms === 0n ? null : new Date(Number(ms)).toISOString());

/** Renders an alert; one without a threshold was never set. */
export function renderAlert(alert: AlertMessage): Alert {
  return {
    enabled: alert.enabled,
    threshold_usd: alert.thresholdNanoUsd === 0n ? null : formatUsd(alert.thresholdNanoUsd),
    emails: alert.emails,
    fired: alert.fired,
    fired_at: instant(alert.firedAtMs),
    updated_at: instant(alert.updatedAtMs),
  };
}

/** Renders an alert and the balance that it watches. */
export function renderAlertNow(
  { alert, settledNanoUsd, availableNanoUsd, low, rearmAtNanoUsd }: GetAlertResponse,
  mailConfigured: boolean,
): AlertNow {
  return {
    ...renderAlert(alert!),
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

/** The event of a mail; empty for a mail about something else. */
type MailEvent = WebhookBody | { readonly id?: undefined; readonly type?: undefined };

type Figures = Pick<Delivery, 'threshold_usd' | 'settled_usd' | 'available_usd' | 'budget' | 'refused_key'>;
const noFigures: Figures = { threshold_usd: null, settled_usd: null, available_usd: null, budget: null, refused_key: null };

function figuresOf(event: MailEvent): Figures {
  switch (event.type) {
    case 'budget.reached': {
      const { budget_id: id, scope, scope_id, period, percent, limit_usd, spent_usd } = event.data;
      return { ...noFigures, budget: { id, scope, scope_id, period, percent, limit_usd, spent_usd } };
    }
    case 'key.refused':
      return { ...noFigures, refused_key: event.data };
    case 'balance.low':
      return { ...noFigures, ...event.data };
    default:
      return noFigures;
  }
}

/** Renders one mail to one address. */
export function renderDelivery(notification: Notification): Delivery {
  const event = JSON.parse(notification.eventJson) as MailEvent;
  return {
    id: notification.id,
    event_id: event.id ?? null,
    test: event.type !== undefined && event.test === true,
    destination: notification.destination,
    state: words.deliveryState.of(notification.state),
    attempts: notification.attempts,
    outcome: notification.lastResult,
    ...figuresOf(event),
    created_at: instant(notification.createdAtMs),
    next_attempt_at: instant(notification.nextAttemptAtMs),
    ended_at: instant(notification.endedAtMs),
  };
}
