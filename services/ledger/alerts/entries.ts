// What an alert gives the notifier. Pure but for the ids.
import { newId } from '#kit/id.js';
import type { NewNotification, NotificationEntry } from '#proto/auth/v1/notifications.js';
import { type AlertEvent, eventJson, mailText } from './message.js';
import type { AlertRecord, Money } from './model.js';

/** Returns one notification per destination. The secret of a webhook is still encrypted. */
export function notificationsOf(
  alert: AlertRecord,
  happened: { money: Money; isTest: boolean; nowMs: number; publicUrl: string | undefined; newEntryId: (nowMs: number) => string },
): NotificationEntry[] {
  const { money, isTest, nowMs, publicUrl, newEntryId } = happened;
  const { accountId, thresholdNanoUsd } = alert;
  const event: AlertEvent = { id: newId('evt', nowMs), accountId, isTest, thresholdNanoUsd, ...money, atMs: nowMs };
  const message = { eventJson: eventJson(event), mail: mailText(event, publicUrl), once: isTest, newEntryId: () => newEntryId(nowMs) };
  return notificationsTo(alert, message);
}

/** Returns one notification of this message per destination. The secret of a webhook is still encrypted. */
export function notificationsTo(
  { accountId, emails, webhookUrl, sealedSecret = '' }: AlertRecord,
  {
    eventJson: json,
    mail,
    once,
    newEntryId,
  }: { eventJson: string; mail: { subject: string; text: string }; once: boolean; newEntryId: () => string },
): NotificationEntry[] {
  const entry = (destination: string, content: NonNullable<NewNotification['content']>): NotificationEntry => ({
    id: newEntryId(),
    accountId,
    entry: { $case: 'notification', value: { destination, eventJson: json, once, content } },
  });
  return [
    ...emails.map((email) => entry(email, { $case: 'mail', value: mail })),
    ...(webhookUrl === '' ? [] : [entry(webhookUrl, { $case: 'webhook', value: { secret: sealedSecret } })]),
  ];
}

/** Returns the entry that withdraws what is on its way to other destinations. `sealedSecret` is that of a new webhook secret, still encrypted. */
export function destinationsOf(
  { accountId, enabled, emails, webhookUrl }: AlertRecord,
  id: string,
  sealedSecret: string,
): NotificationEntry {
  const destinations = enabled ? [...emails, ...(webhookUrl === '' ? [] : [webhookUrl])] : [];
  return { id, accountId, entry: { $case: 'destinations', value: { destinations, webhookSecret: sealedSecret } } };
}
