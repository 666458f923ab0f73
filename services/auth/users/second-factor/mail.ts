// Mails that report changes of second factors, so that users notice changes that they did not make.
import { newId } from '#kit/id.js';
import type { User } from '#proto/auth/v1/users.js';
import type { OutgoingNotification } from '../../notifications/model.js';
import type { UserDeps } from '../deps.js';
import { type FactorEvent, factorMail } from '../mail/factor-mail.js';

/** Returns the mail about a change, to be added in its transaction; undefined if none can be sent. */
export async function mailAboutFactors(
  user: User,
  event: FactorEvent,
  language: string,
  { mails, clock }: Pick<UserDeps, 'mails' | 'clock'>,
): Promise<OutgoingNotification | undefined> {
  const page = mails.address('/settings/security');
  if (page === undefined) return undefined;
  const id = newId('ntf', clock.nowMs());
  const content = factorMail({ name: user.name, event, atMs: clock.nowMs(), page }, language);
  return mails.compose({ id, kind: 'factor', subject: id, to: user.email, content, budgets: new Map() });
}
