// Alerts and what was sent for them as JSON. Amounts are decimal-string USD. Pure.
import { formatUsd } from '#rules/money.js';
import { type Alert, AlertChannel, type AlertDelivery, AlertDeliveryState, type GetAlertResponse } from '#proto/ledger/v1/alerts.js';

const instant = (ms: bigint): string | null => (ms === 0n ? null : new Date(Number(ms)).toISOString());

/** Where a webhook is, for those who may not change it: of many the path is all that keeps others from posting there. */
function hostOf(url: string): string {
  return `${new URL(url).origin}/…`;
}

/** An alert; one without a threshold was never set. With `isWhole` also the path of its webhook. */
export function renderAlert(alert: Alert, isWhole = true): Record<string, unknown> {
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

/** An alert and how the balance stands to it. */
export function renderAlertNow(
  { alert, settledNanoUsd, availableNanoUsd, low, rearmAtNanoUsd, mailConfigured }: GetAlertResponse,
  isWhole: boolean,
): Record<string, unknown> {
  return {
    ...renderAlert(alert!, isWhole),
    settled_usd: formatUsd(settledNanoUsd),
    available_usd: formatUsd(availableNanoUsd),
    low,
    rearm_at_usd: rearmAtNanoUsd === 0n ? null : formatUsd(rearmAtNanoUsd),
    mail_configured: mailConfigured,
  };
}

/** What a banner needs beside the balance. */
export function renderLow({ alert, low }: GetAlertResponse): { low: boolean; threshold_usd: string | null } {
  return { low, threshold_usd: alert!.enabled && alert!.thresholdNanoUsd !== 0n ? formatUsd(alert!.thresholdNanoUsd) : null };
}

/** One message to one destination, of which a webhook's path is told with `isWhole` only. */
export function renderDelivery(delivery: AlertDelivery, isWhole: boolean): Record<string, unknown> {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    test: delivery.test,
    channel: AlertChannel[delivery.channel].replace('ALERT_CHANNEL_', '').toLowerCase(),
    destination: isWhole || delivery.channel !== AlertChannel.ALERT_CHANNEL_WEBHOOK ? delivery.destination : hostOf(delivery.destination),
    state: AlertDeliveryState[delivery.state].replace('ALERT_DELIVERY_STATE_', '').toLowerCase(),
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
