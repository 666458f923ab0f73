// The output of alerts and their deliveries.
import { AlertChannel, type AlertDelivery, AlertDeliveryState, type GetAlertResponse } from '#proto/ledger/v1/alerts.js';
import { instant, instantJson, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../parse.js';

const channels = wordsOf<AlertChannel>(AlertChannel, 'ALERT_CHANNEL_');
const states = wordsOf<AlertDeliveryState>(AlertDeliveryState, 'ALERT_DELIVERY_STATE_');
const maybe = (ms: bigint): string => (ms === 0n ? '' : instant(ms));
const maybeJson = (ms: bigint): string | null => (ms === 0n ? null : instantJson(ms));

/** An alert, and whether the balance is below its threshold. */
export const alertView: View<GetAlertResponse> = {
  json: ({ alert, settledNanoUsd, availableNanoUsd, low, rearmAtNanoUsd, mailConfigured }) => ({
    account_id: alert!.accountId,
    enabled: alert!.enabled,
    ...usdJson('threshold', alert!.thresholdNanoUsd),
    ...usdJson('settled', settledNanoUsd),
    ...usdJson('available', availableNanoUsd),
    ...usdJson('rearm_at', rearmAtNanoUsd),
    low,
    fired: alert!.fired,
    fired_at: maybeJson(alert!.firedAtMs),
    emails: alert!.emails,
    webhook_url: alert!.webhookUrl === '' ? null : alert!.webhookUrl,
    mail_configured: mailConfigured,
    updated_at: maybeJson(alert!.updatedAtMs),
  }),
  columns: [
    { title: 'account', text: ({ alert }) => alert!.accountId },
    { title: 'alert', text: ({ alert }) => (alert!.thresholdNanoUsd === 0n ? 'never set' : alert!.enabled ? 'on' : 'off') },
    { title: 'threshold', text: ({ alert }) => (alert!.thresholdNanoUsd === 0n ? '' : usd(alert!.thresholdNanoUsd)) },
    { title: 'settled', text: ({ settledNanoUsd, low }) => `${usd(settledNanoUsd)}${low ? ' (low)' : ''}` },
    {
      title: 'fired',
      text: ({ alert, rearmAtNanoUsd }) => (alert!.fired ? `${maybe(alert!.firedAtMs)}; armed again at ${usd(rearmAtNanoUsd)}` : ''),
    },
    {
      title: 'mail',
      text: ({ alert, mailConfigured }) =>
        `${alert!.emails.join(', ')}${alert!.emails.length > 0 && !mailConfigured ? ' (no mail server: TOLLGATE_SMTP_URL)' : ''}`,
    },
    { title: 'webhook', text: ({ alert }) => alert!.webhookUrl },
  ],
};

/** One message to one destination. */
export const deliveryView: View<AlertDelivery> = {
  json: (delivery) => ({
    id: delivery.id,
    event_id: delivery.eventId,
    account_id: delivery.accountId,
    test: delivery.test,
    channel: channels.of(delivery.channel),
    destination: delivery.destination,
    state: states.of(delivery.state),
    attempts: delivery.attempts,
    outcome: delivery.lastResult,
    ...usdJson('threshold', delivery.thresholdNanoUsd),
    ...usdJson('settled', delivery.settledNanoUsd),
    ...usdJson('available', delivery.availableNanoUsd),
    created_at: instantJson(delivery.createdAtMs),
    next_attempt_at: maybeJson(delivery.nextAttemptAtMs),
    ended_at: maybeJson(delivery.endedAtMs),
  }),
  columns: [
    { title: 'time', text: ({ createdAtMs }) => instant(createdAtMs) },
    { title: 'what', text: ({ test }) => (test ? 'test' : 'low balance') },
    { title: 'by', text: ({ channel }) => channels.of(channel) },
    { title: 'to', text: ({ destination }) => destination },
    { title: 'state', text: ({ state }) => states.of(state) },
    { title: 'tries', text: ({ attempts }) => String(attempts), align: 'right' },
    { title: 'outcome', text: ({ lastResult: outcome }) => outcome },
  ],
};
