// The output of alerts and their deliveries.
import { type Notification, NotificationState } from '#proto/auth/v1/notifications.js';
import type { GetAlertResponse } from '#proto/ledger/v1/alerts.js';
import { parseUsd } from '#rules/money/money.js';
import type { WebhookBody } from '#rules/webhook-events.js';
import { instant, instantJson, type Json, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';

const states = wordsOf<NotificationState>(NotificationState, 'NOTIFICATION_STATE_');
/** Returns an instant; empty for 0. */
export const maybe = (ms: bigint): string => (ms === 0n ? '' : instant(ms));
/** Returns an instant; null for 0. */
export const maybeJson = (ms: bigint): string | null => (ms === 0n ? null : instantJson(ms));

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
      text({ alert, mailConfigured }) {
        const { emails, enabled } = alert!;
        if (emails.length === 0) return enabled ? 'no addresses, so only the console and webhooks report it' : '';
        return `${emails.join(', ')}${mailConfigured ? '' : ' (no mail server: TOLLGATE_SMTP_URL)'}`;
      },
    },
  ],
};

/** The event of a mail; empty for a mail about something else. */
type MailEvent = WebhookBody | { readonly id?: undefined; readonly type?: undefined };

const eventOf = ({ eventJson }: Notification): MailEvent => JSON.parse(eventJson) as MailEvent;
const isTest = (event: MailEvent): boolean => event.type !== undefined && event.test === true;

function whatOf(event: MailEvent): string {
  if (event.type === 'budget.reached') return `${event.data.percent}% of the budget of the ${event.data.scope} (${event.data.period})`;
  if (event.type === 'key.refused') return `calls of ${event.data.key_id} refused (${event.data.reason})`;
  if (event.type === 'balance.low') return isTest(event) ? 'test' : 'low balance';
  return 'webhook endpoint disabled';
}

function figuresJson(event: MailEvent): { [name: string]: Json } {
  if (event.type === 'budget.reached') {
    const { budget_id, scope, scope_id, period, percent, limit_usd, spent_usd } = event.data;
    const amounts = { ...usdJson('limit', parseUsd(limit_usd)!), ...usdJson('spent', parseUsd(spent_usd)!) };
    return { budget_id, scope, scope_id, period, percent, ...amounts };
  }
  if (event.type === 'key.refused') return { ...event.data };
  if (event.type !== 'balance.low') return {};
  return {
    ...usdJson('threshold', parseUsd(event.data.threshold_usd)!),
    ...usdJson('settled', parseUsd(event.data.settled_usd)!),
    ...usdJson('available', parseUsd(event.data.available_usd)!),
  };
}

/** One mail to one address. */
export const deliveryView: View<Notification> = {
  json(notification) {
    const event = eventOf(notification);
    return {
      id: notification.id,
      event_id: event.id ?? null,
      account_id: notification.accountId,
      test: isTest(event),
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
    { title: 'to', text: ({ destination }) => destination },
    { title: 'state', text: ({ state }) => states.of(state) },
    { title: 'tries', text: ({ attempts }) => String(attempts), align: 'right' },
    { title: 'outcome', text: ({ lastResult: outcome }) => outcome },
  ],
};
