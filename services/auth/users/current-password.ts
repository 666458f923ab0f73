// The person of a session, and whether it is they who sit at the screen.
import { idToBytes } from '#kit/id.js';
import type { Session } from '#proto/auth/v1/users.js';
import { found } from '../requests/found.js';
import { signInRefused } from './begin-session.js';
import type { UserDeps } from './deps.js';
import { checkedId } from './fields.js';
import type { Person } from '../users/store/users.js';
import { checkPassword } from './throttle.js';

/** A session with its person. */
export interface SessionPerson {
  readonly session: Session;
  readonly userId: Buffer;
  readonly person: Person;
}

/** Raises invalid_request and not_found. */
export async function personOfSession(sessionId: string, { users, sessions, clock }: UserDeps): Promise<SessionPerson> {
  const session = found(await sessions.find(checkedId('session_id', 'sess', sessionId), clock.nowMs()), 'session');
  const userId = idToBytes('user', session.userId)!;
  return { session, userId, person: found(await users.find(userId), 'user') };
}

/** Raises sign_in_refused unless the password is right or the person has none, sign_in_throttled and overloaded. */
export async function assertPresentPassword({ session, person }: SessionPerson, password: string, deps: UserDeps): Promise<void> {
  if (person.password === undefined) return;
  const who = { email: person.user.email, address: session.client!.address };
  if (!(await checkPassword(who, password, person.password, deps))) throw signInRefused();
}
