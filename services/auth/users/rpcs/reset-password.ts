// ResetPassword: sets a new password by a link that was mailed, and begins a session.
import type { CallContext } from '#client/call-context.js';
import type { ResetPasswordRequest, ResetPasswordResponse } from '#proto/auth/v1/users.js';
import { beginSession, signInRefused } from '../begin-session.js';
import type { PeopleDeps } from '../deps.js';
import { checkedClient, checkedPassword } from '../fields.js';
import { hashPassword } from '../password.js';
import { scopeHash } from '../store/failures.js';
import { hashToken } from '../token.js';

/** Raises invalid_request for the password, with which the link stays as it is, sign_in_refused and overloaded. */
export async function resetPassword(request: ResetPasswordRequest, context: CallContext, deps: PeopleDeps): Promise<ResetPasswordResponse> {
  const { failures, identities, users, resets, sessions, clock, log } = deps;
  const password = checkedPassword(request.newPassword, 'new_password');
  const hash = hashToken(request.token);
  const userId = await resets.find(hash, clock.nowMs());
  const person = userId === undefined ? undefined : await users.find(userId);
  if (userId === undefined || person === undefined || person.user.isDisabled) throw signInRefused();
  const hashed = await hashPassword(password);
  // Whoever takes the link may use it, and nobody after them.
  if (!(await resets.take(hash))) throw signInRefused();
  const user = await users.update(userId, { password: hashed });
  await resets.endAll(userId);
  await sessions.end(userId, { butId: undefined });
  await sessions.endLink(userId);
  await failures.clear(scopeHash(`email ${person.user.email}`));
  // Whoever wrote the address first may not be its owner, and an identity of theirs would still let them in.
  if (!person.user.emailVerified) await identities.removeAll(userId);
  log.info({ user_id: person.user.id }, 'password set by a mailed link');
  return { signedIn: await beginSession(user!, checkedClient(request.client), false, context, deps) };
}
