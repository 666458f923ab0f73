// The entries that an alert sends to the notifier. Pure except for the ids.
import { newId } from '#kit/id.js';
import type { NotificationEntry } from '#proto/auth/v1/notifications.js';
import { type AlertEvent, eventJson, mailText } from './message.js';
import type { AlertRecord, Money } from './model.js';

/** A message, for programs and for users. */
export interface AlertMessage {
  readonly eventJson: string;
  readonly mail: { readonly subject: string; readonly text: string };
  /** Send the mails only once, without retries. */
  readonly once: boolean;
  /** Returns the id of the entry for a mail address, or for the webhooks. */
  readonly newEntryId: (destination: string) => string;
}

/** Returns the message of a low balance, or of a test. */
export function lowBalanceMessage(
  { accountId, thresholdNanoUsd, language }: AlertRecord,
  happened: { money: Money; isTest: boolean; nowMs: number; publicUrl: string | undefined; newEntryId: (nowMs: number) => string },
): AlertMessage {
  const { money, isTest, nowMs, publicUrl, newEntryId } = happened;
  const event: AlertEvent = { id: newId('evt', nowMs), accountId, isTest, thresholdNanoUsd, ...money, atMs: nowMs };
  return { eventJson: eventJson(event), mail: mailText(event, publicUrl, language), once: isTest, newEntryId: () => newEntryId(nowMs) };
}

/** Returns one mail per address of an alert. */
export function mailsTo(alert: AlertRecord, { eventJson: json, mail, once, newEntryId }: AlertMessage): NotificationEntry[] {
  return alert.emails.map((destination) => ({
    id: newEntryId(destination),
    accountId: alert.accountId,
    entry: { $case: 'notification', value: { destination, eventJson: json, once, mail } },
  }));
}

/** Returns the event of a message, for the webhooks of the account. */
export function eventEntry(accountId: string, { eventJson: json, newEntryId }: AlertMessage): NotificationEntry {
  return { id: newEntryId('webhooks'), accountId, entry: { $case: 'event', value: { eventJson: json } } };
}

/** Returns the entry that withdraws the mails that are on their way to other addresses. Those of budgets and refused keys are sent while the alert is off, too. */
export function destinationsOf({ accountId, emails }: AlertRecord, id: string): NotificationEntry {
  return { id, accountId, entry: { $case: 'destinations', value: { destinations: [...emails] } } };
}
