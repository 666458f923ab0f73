// ResetPassword: sets a new password by a link that was mailed, and begins a session.
import type { CallContext } from '#client/call-context.js';
import type { ResetPasswordRequest, ResetPasswordResponse } from '#proto/auth/v1/users.js';
import { found } from '../../requests/found.js';
import { provenActor } from '../audit-details.js';
import { beginSession, signInRefused } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedClient, checkedPassword } from '../fields.js';
import { hashPassword } from '../password.js';
import { scopeHash } from '../store/failures.js';
import { hashToken } from '../token.js';

/** Raises invalid_request for the password, with which the link stays as it is, sign_in_refused and overloaded. */
export async function resetPassword(request: ResetPasswordRequest, context: CallContext, deps: UserDeps): Promise<ResetPasswordResponse> {
  const { audit, db, failures, identities, users, resets, sessions, clock, log } = deps;
  const password = checkedPassword(request.newPassword, 'new_password');
  const hash = hashToken(request.token);
  const userId = await resets.find(hash, clock.nowMs());
  const person = userId === undefined ? undefined : await users.find(userId);
  if (userId === undefined || person === undefined || person.user.isDisabled) throw signInRefused();
  const hashed = await hashPassword(password);
  const client = checkedClient(request.client);
  const user = await db.transaction(async (tx) => {
    // Only one request can use the link.
    if (!(await resets.take(tx, hash))) throw signInRefused();
    const { after } = found(await users.update(tx, userId, { password: hashed }), 'user');
    await resets.endAll(tx, userId);
    await sessions.end(tx, userId, { butId: undefined });
    await sessions.endLink(tx, userId);
    // The user who entered the address first may not be its owner, and could still sign in with their identity.
    if (!person.user.emailVerified) await identities.removeAll(tx, userId);
    await audit.append(tx, context, { action: 'profile.password_reset', targetId: after.id, actor: provenActor(after, client) });
    return after;
  });
  await failures.clear(scopeHash(`email ${person.user.email}`));
  log.info({ user_id: person.user.id }, 'password set by a mailed link');
  return { signedIn: await beginSession(user, client, false, context, deps) };
}
