// Notifications on their way to auth's notifier.
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { Outbox } from '#kit/outbox/outbox.js';
import { callContext } from '#client/call-context.js';
import type { NotificationEntry, NotificationService } from '#proto/auth/v1/notifications.js';

/** The name of the outbox's table. */
export const notificationOutbox = 'notification_outbox';

const sendTimeoutMs = 10_000;

/** Delivers notifications. */
export type Notifications = Pick<NotificationService, 'appendNotifications'>;

/** Creates the outbox of a ledger. */
export function createNotificationOutbox(options: {
  readonly db: Database;
  readonly notifications: Notifications;
  readonly log: Logger;
}): Outbox<NotificationEntry> {
  const { db, notifications, log } = options;
  return new Outbox<NotificationEntry>({
    db,
    table: notificationOutbox,
    prefix: 'ntf',
    what: 'notifications',
    decode: (stored) => stored as NotificationEntry,
    send: (entries, signal) =>
      notifications.appendNotifications(
        { entries: [...entries], wait: false },
        callContext({ caller: 'ledger', timeoutMs: sendTimeoutMs, signal }),
      ),
    log,
  });
}
