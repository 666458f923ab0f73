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
import type { NotificationDeps } from '../deps.js';
import { attemptsMax } from '../model.js';
import { toNotificationMessage } from '../render.js';
import { sealContent } from '../try-delivery.js';

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
  const { destination, eventJson, once, content } = entry!.value;
  await deps.notifier.add(tx, {
    id,
    accountId,
    dependsOn: '',
    destination,
    eventJson,
    attemptsMax: once ? 1 : attemptsMax,
    content: content!,
  });
}

/** A repeat changes nothing, because it concerns only notifications that are older than the entry. */
async function withdraw(
  tx: Knex.Transaction,
  of: { accountId: string; beforeId: string },
  { destinations, webhookSecret }: AccountDestinations,
  { notifications, box, clock }: NotificationDeps,
): Promise<void> {
  const outcome = 'the alert was switched off, or no longer names this destination';
  await notifications.withdrawOthers(tx, { ...of, destinations }, { outcome, dueAtMs: clock.nowMs() });
  if (webhookSecret === '') return;
  await notifications.resealWebhooks(tx, of, (id) => sealContent(id, { $case: 'webhook', value: { secret: webhookSecret } }, box));
}

function check({ id, accountId, entry }: NotificationEntry, index: number): void {
  const refuse = (field: string, rule: string) => invalidField(`entries[${index}].${field}`, `entries[${index}].${field} ${rule}.`);
  if (!isId('ntf', id)) throw refuse('id', 'must be "ntf_" and 32 hexadecimal digits');
  if (!isId('acct', accountId)) throw refuse('account_id', 'must be the id of an account');
  if (entry === undefined) throw refuse('entry', 'must be a notification or destinations');
  if (entry.$case === 'destinations') {
    if (entry.value.destinations.length > destinationsMax)
      throw refuse('destinations.destinations', `must have at most ${destinationsMax} entries`);
    return;
  }
  const { destination, eventJson, content } = entry.value;
  if (content === undefined) throw refuse('notification.content', 'must be a mail or a webhook');
  const isAddress = content.$case === 'mail' ? destination !== '' : /^https?:$/.test(URL.parse(destination)?.protocol ?? '');
  if (!isAddress || destination.length > destinationCharsMax)
    throw refuse(
      'notification.destination',
      `must be an email address or an http or https URL, with at most ${destinationCharsMax} characters`,
    );
  if (eventJson.length > eventCharsMax) throw refuse('notification.event_json', `must have at most ${eventCharsMax} characters`);
  if (content.$case === 'mail' && content.value.subject.length + content.value.text.length > textCharsMax)
    throw refuse('notification.mail', `must have at most ${textCharsMax} characters`);
}
