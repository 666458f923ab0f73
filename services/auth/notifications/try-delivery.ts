// One attempt to deliver one notification.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { type Mailer, MailFailure, mailTimeoutMs } from '#kit/mail/mailer.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import { NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import type { AuthConfig } from '../config.js';
import type { Content, Outcome, StoredNotification } from './model.js';
import type { NotificationStore } from './store.js';
import { postWebhook, type Tried, webhookTimeoutMs } from './webhook.js';

/** Holds what an attempt needs. */
export interface DeliveryDeps {
  readonly notifications: NotificationStore;
  /** Encrypts the contents at rest. */
  readonly box: SecretBox;
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

/** Returns how long a claim lasts: longer than an attempt can take. */
export function claimMs(channel: NotificationChannel): number {
  return 2 * (channel === NotificationChannel.NOTIFICATION_CHANNEL_MAIL ? mailTimeoutMs : webhookTimeoutMs);
}

/** Encrypts a content for its notification: under the id of another it cannot be opened. */
export function sealContent(id: string, content: Content, box: SecretBox): string {
  return box.seal(JSON.stringify(content), contentPurpose(id));
}

/** Returns the purpose for which a content is sealed. */
export function contentPurpose(id: string): string {
  return `notification ${id}`;
}

/** Attempts a delivery and returns its outcome. With a first wait of 10 s the waits are 10 s, 40 s, 2 min 40 s, 11 min and 43 min. */
export async function tryDelivery(notification: StoredNotification, deps: DeliveryDeps): Promise<Outcome> {
  const { config, clock } = deps;
  const { attempts, attemptsMax, dependsOn } = notification;
  if (dependsOn !== '' && !(await deps.isWanted(dependsOn)))
    return { state: withdrawn, outcome: 'the link in it is no longer valid', dueAtMs: clock.nowMs() };
  const { isDelivered, isFinal, words } = await send(notification, deps);
  const isOver = isDelivered || isFinal || attempts >= attemptsMax;
  return {
    state: isDelivered ? delivered : isOver ? failed : pending,
    outcome: words,
    dueAtMs: clock.nowMs() + (isOver ? 0 : config.notificationRetryMs * growth ** (attempts - 1)),
  };
}

async function send(notification: StoredNotification, { mailer, box, clock, config, log }: DeliveryDeps): Promise<Tried> {
  const { id, destination, sealedContent, attempts } = notification;
  const opened = sealedContent === undefined ? undefined : box.open(sealedContent, contentPurpose(id));
  if (opened === undefined) return final('its content cannot be decrypted any more');
  const content = JSON.parse(opened) as Content;
  if (content.$case === 'webhook') {
    const { secret } = content.value;
    if (secret === '') return final('the signing secret cannot be read any more; renew it');
    const call = { url: destination, body: notification.eventJson, secret, deliveryId: id, nowMs: clock.nowMs() };
    return postWebhook(call, config.privateWebhooks);
  }
  if (mailer === undefined) return final('this installation has no mail server (TOLLGATE_SMTP_URL)');
  try {
    return { isDelivered: true, isFinal: true, words: await mailer.send({ to: destination, ...content.value, id }) };
  } catch (error) {
    if (!(error instanceof MailFailure)) throw error;
    // The address of the mail server and its full response are for the operator only.
    log.warn({ err: error.cause ?? error, notification_id: id, attempts }, 'the mail server rejected a mail');
    return { isDelivered: false, isFinal: error.isFinal, words: error.message };
  }
}

function final(words: string): Tried {
  return { isDelivered: false, isFinal: true, words };
}
