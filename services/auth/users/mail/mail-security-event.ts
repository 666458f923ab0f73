// Mails that report changes of how users sign in, so that users notice changes that they did not make.
import type { Knex } from 'knex';
import { newId } from '#kit/id.js';
import type { User } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';
import { kindOf, type SecurityEvent, securityMail } from './security-mail.js';

/**
 * Adds the mail about a change to the notifier, in the transaction of the change, if mail can be sent. `user` is the user before the change, so that the
 * mail about a new address goes to the former one.
 */
export async function mailSecurityEvent(
  tx: Knex.Transaction,
  user: User,
  event: SecurityEvent,
  language: string | undefined,
  { mails, notifier, clock }: Pick<UserDeps, 'mails' | 'notifier' | 'clock'>,
): Promise<void> {
  const [security, forgot] = [mails.address('/settings/security'), mails.address('/forgot')];
  if (security === undefined || forgot === undefined) return;
  const id = newId('ntf', clock.nowMs());
  const content = securityMail({ name: user.name, event, atMs: clock.nowMs(), security, forgot }, language ?? '');
  const mail = await mails.compose(tx, { id, kind: kindOf(event), subject: id, to: user.email, content, budgets: new Map() });
  await notifier.add(tx, mail);
}
