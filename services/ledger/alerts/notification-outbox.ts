// Notifications on their way to auth's notifier. The secrets of webhooks are encrypted in the outbox, as in the alerts from which they come.
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { Outbox } from '#kit/outbox/outbox.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import { callContext } from '#client/call-context.js';
import type { NotificationEntry, NotificationService } from '#proto/auth/v1/notifications.js';

/** The name of the outbox's table. */
export const notificationOutbox = 'notification_outbox';

const sendTimeoutMs = 10_000;

/** Delivers notifications. */
export type Notifications = Pick<NotificationService, 'appendNotifications' | 'getDeliveryStatus'>;

/** Creates the outbox of a ledger. */
export function createNotificationOutbox(options: {
  readonly db: Database;
  readonly box: SecretBox;
  readonly notifications: Notifications;
  readonly log: Logger;
}): Outbox<NotificationEntry> {
  const { db, box, notifications, log } = options;
  return new Outbox<NotificationEntry>({
    db,
    table: notificationOutbox,
    prefix: 'ntf',
    what: 'notifications',
    decode: (stored) => stored as NotificationEntry,
    send: (entries, signal) =>
      notifications.appendNotifications(
        { entries: entries.map((entry) => withOpenSecret(entry, box)), wait: false },
        callContext({ caller: 'ledger', timeoutMs: sendTimeoutMs, signal }),
      ),
    log,
  });
}

/** Returns the purpose for which a secret is sealed: a row moved to another account cannot be opened. */
export function sealPurpose(accountId: string): string {
  return `webhook secret of ${accountId}`;
}

/** Returns the sealed secret of an entry; empty if it has none. */
export function sealedSecretOf({ entry }: NotificationEntry): string {
  if (entry?.$case === 'destinations') return entry.value.webhookSecret;
  return entry?.$case === 'notification' && entry.value.content?.$case === 'webhook' ? entry.value.content.value.secret : '';
}

/** Returns an entry with another secret of its webhook. */
export function withSealedSecret(entry: NotificationEntry, secret: string): NotificationEntry {
  const of = entry.entry;
  if (of?.$case === 'destinations') return { ...entry, entry: { $case: 'destinations', value: { ...of.value, webhookSecret: secret } } };
  if (of?.$case !== 'notification' || of.value.content?.$case !== 'webhook') return entry;
  return { ...entry, entry: { $case: 'notification', value: { ...of.value, content: { $case: 'webhook', value: { secret } } } } };
}

/** Returns an entry with the secret of its webhook decrypted; empty if it cannot be decrypted any more, which the notifier reports. */
export function withOpenSecret(entry: NotificationEntry, box: SecretBox): NotificationEntry {
  const sealed = sealedSecretOf(entry);
  return sealed === '' ? entry : withSealedSecret(entry, box.open(sealed, sealPurpose(entry.accountId)) ?? '');
}
