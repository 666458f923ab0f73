// Mails that report changes of second factors, so that users notice changes that they did not make.
import type { Knex } from 'knex';
import { newId } from '#kit/id.js';
import type { User } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';
import { type FactorEvent, factorMail } from '../mail/factor-mail.js';

/** Adds the mail about a change to the notifier, in the transaction of the change, if mail can be sent. */
export async function mailAboutFactors(
  tx: Knex.Transaction,
  user: User,
  event: FactorEvent,
  language: string,
  { mails, notifier, clock }: Pick<UserDeps, 'mails' | 'notifier' | 'clock'>,
): Promise<void> {
  const page = mails.address('/settings/security');
  if (page === undefined) return;
  const id = newId('ntf', clock.nowMs());
  const content = factorMail({ name: user.name, event, atMs: clock.nowMs(), page }, language);
  const mail = await mails.compose(tx, { id, kind: 'factor', subject: id, to: user.email, content, budgets: new Map() });
  await notifier.add(tx, mail);
}
