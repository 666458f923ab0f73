// One attempt to deliver one notification.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { type Mailer, mailAcceptMs, MailFailure, mailTimeoutMs } from '#kit/mail/mailer.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import { type MailContent, NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import { finding } from '#rules/errors/finding-sentences.js';
import type { AuthConfig } from '../config.js';
import type { WebhookEndpointStore } from '../webhooks/endpoint-store.js';
import type { Outcome, StoredNotification } from './model.js';
import type { NotificationStore } from './store.js';
import { postWebhook, type AttemptResult, webhookTimeoutMs } from './webhook.js';

/** The dependencies of an attempt. */
export interface DeliveryDeps {
  readonly notifications: NotificationStore;
  /** Encrypts the contents at rest. */
  readonly box: SecretBox;
  readonly endpoints: Pick<WebhookEndpointStore, 'signingSecrets'>;
  /** Hands an event for every account to its endpoints. */
  fanOut(notification: StoredNotification): Promise<void>;
  /** Records the outcome of an attempt at the endpoint of a webhook. */
  noteAttempt(notification: StoredNotification, attempted: Attempted): Promise<void>;
  /** Undefined: no mail is sent. */
  readonly mailer: Mailer | undefined;
  /** Reports whether what a notification depends on still exists. */
  isWanted(dependsOn: string): Promise<boolean>;
  readonly config: Pick<AuthConfig, 'notificationIntervalMs' | 'notificationRetryMs' | 'privateWebhooks'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const {
  NOTIFICATION_STATE_PENDING: pending,
  NOTIFICATION_STATE_DELIVERED: delivered,
  NOTIFICATION_STATE_FAILED: failed,
  NOTIFICATION_STATE_WITHDRAWN: withdrawn,
} = NotificationState;

const growth = 4;
const waitMsMax = 12 * 3_600_000;

/** The outcome of an attempt, for the endpoint of a webhook. */
export interface Attempted extends Outcome {
  /** The receiver wants no further requests. */
  readonly isGone: boolean;
}

/** Returns how long a claim lasts: longer than an attempt can take, up to the content of a mail, with which the claim is extended. */
export function claimMs(channel: NotificationChannel): number {
  return 2 * (channel === NotificationChannel.NOTIFICATION_CHANNEL_MAIL ? mailTimeoutMs : webhookTimeoutMs);
}

/** Encrypts a mail for its notification: under the id of another it cannot be opened. */
export function sealContent(id: string, content: MailContent, box: SecretBox): string {
  return box.seal(JSON.stringify(content), contentPurpose(id));
}

/** Returns the purpose for which a content is sealed. */
export function contentPurpose(id: string): string {
  return `notification ${id}`;
}

/**
 * Attempts a delivery and returns its outcome. With a first wait of 10 s the waits are 10 s, 40 s, 2 min 40 s, 11 min and 43 min, and for webhooks
 * then 2 h 51 min, 11 h 23 min and 12 h.
 */
export async function tryDelivery(notification: StoredNotification, deps: DeliveryDeps): Promise<Attempted> {
  const { config, clock } = deps;
  const { attempts, attemptsMax, dependsOn } = notification;
  if (dependsOn !== '' && !(await deps.isWanted(dependsOn)))
    return { state: withdrawn, outcome: finding('link_ended', {}), dueAtMs: clock.nowMs(), isGone: false };
  const { isDelivered, isFinal, isGone = false, words } = await send(notification, deps);
  const isOver = isDelivered || isFinal || attempts >= attemptsMax;
  return {
    state: isDelivered ? delivered : isOver ? failed : pending,
    outcome: words,
    dueAtMs: clock.nowMs() + (isOver ? 0 : Math.min(config.notificationRetryMs * growth ** (attempts - 1), waitMsMax)),
    isGone,
  };
}

async function send(notification: StoredNotification, deps: DeliveryDeps): Promise<AttemptResult> {
  const { mailer, box, clock, config, log } = deps;
  const { id, channel, endpointId, destination, eventJson, sealedContent, attempts } = notification;
  if (channel === NotificationChannel.NOTIFICATION_CHANNEL_WEBHOOK) {
    if (endpointId === undefined) {
      await deps.fanOut(notification);
      return { isDelivered: true, isFinal: true, words: 'handed to the endpoints' };
    }
    const secrets = await deps.endpoints.signingSecrets(endpointId, clock.nowMs());
    if (secrets.length === 0) return final(finding('signing_secret_unreadable', {}));
    const { id: eventId } = JSON.parse(eventJson) as { id: string };
    return postWebhook({ url: destination, body: eventJson, secrets, eventId, nowMs: clock.nowMs() }, config.privateWebhooks);
  }
  const opened = sealedContent === undefined ? undefined : box.open(sealedContent, contentPurpose(id));
  if (opened === undefined) return final(finding('content_unreadable', {}));
  const content = JSON.parse(opened) as MailContent;
  if (mailer === undefined) return final(finding('no_mail_server', {}));
  let extension: Promise<void> | undefined;
  try {
    const words = await mailer.send({ to: destination, ...content, id }, () => {
      extension = extendClaim(notification, deps);
    });
    return { isDelivered: true, isFinal: true, words };
  } catch (error) {
    if (!(error instanceof MailFailure)) throw error;
    // The address of the mail server and its full response are for the operator only.
    log.warn({ err: error.cause ?? error, notification_id: id, attempts }, 'the mail server rejected an email');
    return { isDelivered: false, isFinal: error.isFinal, words: error.message };
  } finally {
    // Otherwise it could replace the time of the next attempt.
    await extension;
  }
}

/** Lets no other attempt begin while the server may still accept the mail. */
async function extendClaim(notification: StoredNotification, { notifications, clock, log }: DeliveryDeps): Promise<void> {
  try {
    await notifications.extendClaim(notification, clock.nowMs() + mailAcceptMs + mailTimeoutMs);
  } catch (error) {
    log.warn({ err: error, notification_id: notification.id }, 'the claim of an email could not be extended; it may be sent twice');
  }
}

function final(words: string): AttemptResult {
  return { isDelivered: false, isFinal: true, words };
}
