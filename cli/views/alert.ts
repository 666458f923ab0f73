// The output of alerts and their deliveries.
import { type Notification, NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import type { GetAlertResponse } from '#proto/ledger/v1/alerts.js';
import { parseUsd } from '#rules/money.js';
import { instant, instantJson, type Json, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../parse.js';

const channels = wordsOf<NotificationChannel>(NotificationChannel, 'NOTIFICATION_CHANNEL_');
const states = wordsOf<NotificationState>(NotificationState, 'NOTIFICATION_STATE_');
const maybe = (ms: bigint): string => (ms === 0n ? '' : instant(ms));
const maybeJson = (ms: bigint): string | null => (ms === 0n ? null : instantJson(ms));

/** An alert, and whether mail can be sent for it. */
export interface AlertNow extends GetAlertResponse {
  readonly mailConfigured: boolean;
}

/** An alert, and whether the balance is below its threshold. */
export const alertView: View<AlertNow> = {
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

/** The event of an alert's notifications (docs/alerts.md). */
type AlertEvent = { readonly id: string } & (
  | {
      readonly type: 'balance.low' | 'balance.low.test';
      readonly threshold_usd: string;
      readonly settled_usd: string;
      readonly available_usd: string;
    }
  | { readonly type: 'key.refused'; readonly key_id: string; readonly project_id: string; readonly reason: string }
  | {
      readonly type: 'budget.reached';
      readonly budget_id: string;
      readonly scope: string;
      readonly scope_id: string;
      readonly period: string;
      readonly percent: number;
      readonly limit_usd: string;
      readonly spent_usd: string;
    }
);

const eventOf = ({ eventJson }: Notification): AlertEvent => JSON.parse(eventJson) as AlertEvent;
const isTest = (notification: Notification): boolean => eventOf(notification).type === 'balance.low.test';

function whatOf(event: AlertEvent): string {
  if (event.type === 'budget.reached') return `${event.percent}% of the budget of the ${event.scope} (${event.period})`;
  if (event.type === 'key.refused') return `calls of ${event.key_id} refused (${event.reason})`;
  return event.type === 'balance.low.test' ? 'test' : 'low balance';
}

function figuresJson(event: AlertEvent): { [name: string]: Json } {
  if (event.type === 'budget.reached') {
    const { budget_id, scope, scope_id, period, percent, limit_usd, spent_usd } = event;
    const amounts = { ...usdJson('limit', parseUsd(limit_usd)!), ...usdJson('spent', parseUsd(spent_usd)!) };
    return { budget_id, scope, scope_id, period, percent, ...amounts };
  }
  if (event.type === 'key.refused') return { key_id: event.key_id, project_id: event.project_id, reason: event.reason };
  return {
    ...usdJson('threshold', parseUsd(event.threshold_usd)!),
    ...usdJson('settled', parseUsd(event.settled_usd)!),
    ...usdJson('available', parseUsd(event.available_usd)!),
  };
}

/** One message to one destination. */
export const deliveryView: View<Notification> = {
  json(notification) {
    const event = eventOf(notification);
    return {
      id: notification.id,
      event_id: event.id,
      account_id: notification.accountId,
      test: isTest(notification),
      channel: channels.of(notification.channel),
      destination: notification.destination,
      state: states.of(notification.state),
      attempts: notification.attempts,
      outcome: notification.lastResult,
      ...figuresJson(event),
      created_at: instantJson(notification.createdAtMs),
      next_attempt_at: maybeJson(notification.nextAttemptAtMs),
      ended_at: maybeJson(notification.endedAtMs),
    };
  },
  columns: [
    { title: 'time', text: ({ createdAtMs }) => instant(createdAtMs) },
    { title: 'what', text: (notification) => whatOf(eventOf(notification)) },
    { title: 'by', text: ({ channel }) => channels.of(channel) },
    { title: 'to', text: ({ destination }) => destination },
    { title: 'state', text: ({ state }) => states.of(state) },
    { title: 'tries', text: ({ attempts }) => String(attempts), align: 'right' },
    { title: 'outcome', text: ({ lastResult: outcome }) => outcome },
  ],
};
