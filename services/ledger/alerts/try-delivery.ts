// One attempt to deliver one message.
import { MailFailure, mailTimeoutMs } from '#kit/mail/mailer.js';
import { AlertChannel, AlertDeliveryState } from '#proto/ledger/v1/alerts.js';
import type { AlertDeps } from './deps.js';
import { mailText, webhookBody } from './message.js';
import type { AlertRecord, Delivery } from './model.js';
import { retryAfterMs } from './retry.js';
import type { Outcome } from './store/deliveries.js';
import { postWebhook, type Tried, webhookTimeoutMs } from './webhook.js';

const {
  ALERT_DELIVERY_STATE_PENDING: pending,
  ALERT_DELIVERY_STATE_DELIVERED: delivered,
  ALERT_DELIVERY_STATE_FAILED: failed,
  ALERT_DELIVERY_STATE_WITHDRAWN: withdrawn,
} = AlertDeliveryState;

/** How long a claim lasts: longer than an attempt can take. */
export const claimMs = 2 * Math.max(mailTimeoutMs, webhookTimeoutMs);

/** Returns the purpose for which a secret is sealed: a row moved to another account cannot be opened. */
export function sealPurpose(accountId: string): string {
  return `webhook secret of ${accountId}`;
}

/** Attempts a delivery and returns its outcome. A test is attempted once. */
export async function tryDelivery(delivery: Delivery, deps: AlertDeps): Promise<Outcome> {
  const { alerts, clock, config } = deps;
  const alert = await alerts.find(delivery.accountId);
  if (alert === undefined || !isWanted(delivery, alert)) {
    return { state: withdrawn, outcome: 'the alert was switched off, or no longer names this destination', dueAtMs: clock.nowMs() };
  }
  const { isDelivered, isFinal, words } = await send(delivery, alert, deps);
  if (isDelivered) return { state: delivered, outcome: words, dueAtMs: clock.nowMs() };
  const waitMs = isFinal || delivery.isTest ? undefined : retryAfterMs(delivery.attempts, config.alertRetryMs);
  return waitMs === undefined
    ? { state: failed, outcome: words, dueAtMs: clock.nowMs() }
    : { state: pending, outcome: words, dueAtMs: clock.nowMs() + waitMs };
}

function isWanted({ isTest, channel, destination }: Delivery, { enabled, emails, webhookUrl }: AlertRecord): boolean {
  if (!enabled && !isTest) return false;
  return channel === AlertChannel.ALERT_CHANNEL_MAIL ? emails.includes(destination) : webhookUrl === destination;
}

async function send(delivery: Delivery, alert: AlertRecord, { mailer, box, publicUrl, clock, config, log }: AlertDeps): Promise<Tried> {
  if (delivery.channel === AlertChannel.ALERT_CHANNEL_WEBHOOK) {
    const secret = alert.sealedSecret === undefined ? undefined : box.open(alert.sealedSecret, sealPurpose(alert.accountId));
    if (secret === undefined) return { isDelivered: false, isFinal: true, words: 'the signing secret cannot be read any more; renew it' };
    const call = { url: delivery.destination, body: webhookBody(delivery), secret, deliveryId: delivery.id, nowMs: clock.nowMs() };
    return postWebhook(call, config.alertPrivateWebhooks);
  }
  if (mailer === undefined) return { isDelivered: false, isFinal: true, words: 'this installation has no mail server (TOLLGATE_SMTP_URL)' };
  try {
    return {
      isDelivered: true,
      isFinal: true,
      words: await mailer.send({ to: delivery.destination, ...mailText(delivery, publicUrl), id: delivery.id }),
    };
  } catch (error) {
    if (!(error instanceof MailFailure)) throw error;
    // The address of the mail server and its full response are for the operator only.
    log.warn({ err: error.cause ?? error, delivery_id: delivery.id, attempts: delivery.attempts }, 'the mail server rejected a mail');
    return { isDelivered: false, isFinal: error.isFinal, words: error.message };
  }
}
