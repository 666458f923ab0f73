// Alerts and their deliveries as JSON. Amounts are decimal-string USD. Pure.
import { type Alert as AlertMessage, AlertChannel, type AlertDelivery, type GetAlertResponse } from '#proto/ledger/v1/alerts.js';
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
  { alert, settledNanoUsd, availableNanoUsd, low, rearmAtNanoUsd, mailConfigured }: GetAlertResponse,
  isWhole: boolean,
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

/** Renders one message to one destination; without `isWhole` only the host of a webhook is included. */
export function renderDelivery(delivery: AlertDelivery, isWhole: boolean): Delivery {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    test: delivery.test,
    channel: words.alertChannel.of(delivery.channel),
    destination: isWhole || delivery.channel !== AlertChannel.ALERT_CHANNEL_WEBHOOK ? delivery.destination : hostOf(delivery.destination),
    state: words.deliveryState.of(delivery.state),
    attempts: delivery.attempts,
    outcome: delivery.lastResult,
    threshold_usd: formatUsd(delivery.thresholdNanoUsd),
    settled_usd: formatUsd(delivery.settledNanoUsd),
    available_usd: formatUsd(delivery.availableNanoUsd),
    created_at: instant(delivery.createdAtMs),
    next_attempt_at: instant(delivery.nextAttemptAtMs),
    ended_at: instant(delivery.endedAtMs),
  };
}
