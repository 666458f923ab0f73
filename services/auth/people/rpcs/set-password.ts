// SetPassword: sets the password of the person of a session.
import type { CallContext } from '#kit/rpc/call-context.js';
import { idToBytes } from '#kit/id.js';
import type { SetPasswordRequest, SetPasswordResponse } from '#proto/auth/v1/people.js';
import { found } from '../../requests/found.js';
import { signInRefused } from '../begin-session.js';
import type { PeopleDeps } from '../deps.js';
import { checkedId, checkedPassword } from '../fields.js';
import { hashPassword } from '../password.js';
import { checkPassword } from '../throttle.js';

/** How long a session that was begun by a link may set a password without the present one, in milliseconds. */
export const linkTrustMs = 15 * 60_000;

/** Raises invalid_request, not_found, sign_in_refused for a wrong present password, sign_in_throttled and overloaded. */
export async function setPassword(request: SetPasswordRequest, _context: CallContext, deps: PeopleDeps): Promise<SetPasswordResponse> {
  const { people, sessions, clock, log } = deps;
  const sessionId = checkedId('session_id', 'sess', request.sessionId);
  const password = checkedPassword(request.newPassword, 'new_password');
  const nowMs = clock.nowMs();
  const session = found(await sessions.find(sessionId, nowMs), 'session');
  const userId = idToBytes('user', session.userId)!;
  const person = found(await people.find(userId), 'user');
  const isTrusted = person.password === undefined || (session.byLink && BigInt(nowMs) < session.createdAtMs + BigInt(linkTrustMs));
  const who = { email: person.user.email, address: session.client!.address };
  if (!isTrusted && !(await checkPassword(who, request.presentPassword, person.password, deps))) throw signInRefused();
  await people.update(userId, { password: await hashPassword(password) });
  await sessions.end(userId, { butId: sessionId });
  log.info({ user_id: session.userId }, 'password set');
  return {};
}
