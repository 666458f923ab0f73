// The user of a session, and the check of their current password.
import type { Knex } from 'knex';
import type { CallContext } from '#client/call-context.js';
import { idToBytes } from '#kit/id.js';
import type { Session, User } from '#proto/auth/v1/users.js';
import { found } from '../../requests/found.js';
import { sessionActor } from '../audit/audit-details.js';
import { signInRefused } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedId } from '../../requests/fields.js';
import { assertRecentlyAuthenticated } from '../second-factor/recent.js';
import type { StoredUser } from '../store/users.js';
import { checkPassword } from './throttle.js';

/** Holds a session with its user. */
export interface SessionUser {
  readonly session: Session;
  readonly userId: Buffer;
  readonly stored: StoredUser;
}

/** Returns the session and its user. Raises invalid_request and not_found. */
export async function userOfSession(sessionId: string, { users, sessions, clock }: UserDeps): Promise<SessionUser> {
  const session = found(await sessions.find(checkedId('session_id', 'sess', sessionId), clock.nowMs()), 'session');
  const userId = idToBytes('user', session.userId)!;
  return { session, userId, stored: found(await users.find(userId), 'user') };
}

/**
 * Locks the user of a session until the transaction ends. Raises not_found if the session has ended since, for example because the user, to keep others
 * out, has set another password.
 */
export async function lockSession(
  tx: Knex.Transaction,
  { session, userId }: SessionUser,
  { users, sessions, clock }: Pick<UserDeps, 'users' | 'sessions' | 'clock'>,
): Promise<void> {
  await users.lock(tx, userId);
  found(await sessions.find(idToBytes('sess', session.id)!, clock.nowMs(), tx), 'session');
}

/** Returns the session with this id if it is one of the user. Raises invalid_request. */
export async function sessionOf(user: User, sessionId: string, { sessions, clock }: UserDeps): Promise<Session | undefined> {
  if (sessionId === '') return undefined;
  const session = await sessions.find(checkedId('session_id', 'sess', sessionId), clock.nowMs());
  return session?.userId === user.id ? session : undefined;
}

/**
 * Raises sign_in_refused for a wrong password, sign_in_throttled and overloaded; for a user without a password, failed_precondition unless they have
 * authenticated recently.
 */
export async function assertCurrentPassword(
  sessionUser: SessionUser,
  password: string,
  context: CallContext,
  deps: UserDeps,
): Promise<void> {
  const { session, stored } = sessionUser;
  if (stored.password === undefined) return assertRecentlyAuthenticated(session, deps.clock);
  const { userId, email, clientAddress } = sessionActor(sessionUser, context);
  const who = { email, address: clientAddress, userId };
  if (!(await checkPassword(who, password, stored.password, deps))) throw signInRefused();
}
