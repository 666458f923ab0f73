// AppendNotifications: stores notifications of other services for delivery.
import type { Knex } from 'knex';
import type { CallContext } from '#client/call-context.js';
import { isDuplicate } from '#kit/db/errors.js';
import { isId } from '#kit/id.js';
import { mailTimeoutMs } from '#kit/mail/mailer.js';
import type {
  AccountDestinations,
  AppendNotificationsRequest,
  AppendNotificationsResponse,
  NotificationEntry,
} from '#proto/auth/v1/notifications.js';
import { invalidField } from '../../requests/fields.js';
import { parsedEvent } from '../../webhooks/events.js';
import type { NotificationDeps } from '../deps.js';
import { attemptsMax } from '../model.js';
import { toNotificationMessage } from '../render.js';

const entriesMax = 100;
const destinationsMax = 100;
const eventCharsMax = 10_000;
const textCharsMax = 20_000;
const destinationCharsMax = 2048;

/** Raises invalid_request. */
export async function appendNotifications(
  { entries, wait }: AppendNotificationsRequest,
  _context: CallContext,
  deps: NotificationDeps,
): Promise<AppendNotificationsResponse> {
  if (entries.length > entriesMax) throw invalidField('entries', `entries must have at most ${entriesMax} entries.`);
  entries.forEach(check);
  const append = () =>
    deps.db.transaction(async (tx) => {
      const ids = entries.map(({ id }) => id);
      const known = new Set((await deps.notifications.find(ids, tx)).map(({ id }) => id));
      for (const entry of entries) if (!known.has(entry.id)) await apply(tx, entry, deps);
    });
  await append().catch((error: unknown) => {
    // The same entries arrived twice at once; now the first are known.
    if (isDuplicate(error)) return append();
    throw error;
  });
  if (!wait) return { notifications: [] };
  const ids = entries.filter(({ entry }) => entry?.$case === 'notification').map(({ id }) => id);
  return { notifications: (await deps.notifier.after(ids, mailTimeoutMs)).map(toNotificationMessage) };
}

async function apply(tx: Knex.Transaction, { id, accountId, entry }: NotificationEntry, deps: NotificationDeps): Promise<void> {
  if (entry!.$case === 'destinations') return withdraw(tx, { accountId, beforeId: id }, entry!.value, deps);
  if (entry!.$case === 'event') return deps.events.publish(tx, parsedEvent(entry!.value.eventJson)!, accountId);
  const { destination, eventJson, once, mail } = entry!.value;
  await deps.notifier.add(tx, {
    id,
    accountId,
    dependsOn: '',
    destination,
    eventJson,
    attemptsMax: once ? 1 : attemptsMax,
    content: mail!,
  });
}

/** A repeat changes nothing, because it concerns only notifications that are older than the entry. */
async function withdraw(
  tx: Knex.Transaction,
  of: { accountId: string; beforeId: string },
  { destinations }: AccountDestinations,
  { notifications, clock }: NotificationDeps,
): Promise<void> {
  const outcome = 'the alert was switched off, or no longer names this destination';
  await notifications.withdrawOthers(tx, { ...of, destinations }, { outcome, dueAtMs: clock.nowMs() });
}

function check({ id, accountId, entry }: NotificationEntry, index: number): void {
  const refuse = (field: string, rule: string) => invalidField(`entries[${index}].${field}`, `entries[${index}].${field} ${rule}.`);
  if (!isId('ntf', id)) throw refuse('id', 'must be "ntf_" followed by 32 lowercase hexadecimal digits');
  if (!isId('acct', accountId)) throw refuse('account_id', 'must be the id of an account');
  if (entry === undefined) throw refuse('entry', 'must be a notification, destinations or an event');
  if (entry.$case === 'destinations') {
    if (entry.value.destinations.length > destinationsMax)
      throw refuse('destinations.destinations', `must have at most ${destinationsMax} entries`);
    return;
  }
  if (entry.$case === 'event') {
    const { eventJson } = entry.value;
    if (eventJson.length > eventCharsMax || parsedEvent(eventJson) === undefined)
      throw refuse('event.event_json', `must be a JSON object with the id and type of an event, with at most ${eventCharsMax} characters`);
    return;
  }
  const { destination, eventJson, mail } = entry.value;
  if (mail === undefined) throw refuse('notification.mail', 'is required');
  if (destination === '' || destination.length > destinationCharsMax)
    throw refuse('notification.destination', `must be an email address with at most ${destinationCharsMax} characters`);
  if (eventJson.length > eventCharsMax) throw refuse('notification.event_json', `must have at most ${eventCharsMax} characters`);
  if (mail.subject.length + mail.text.length > textCharsMax)
    throw refuse('notification.mail', `must have at most ${textCharsMax} characters`);
}
