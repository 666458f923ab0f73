// ResetPassword: sets a new password with a mailed link, and begins a session.
import type { CallContext } from '#client/call-context.js';
import { type ResetPasswordRequest, type ResetPasswordResponse, SignInMethod } from '#proto/auth/v1/users.js';
import { found } from '../../requests/found.js';
import { provenActor } from '../audit/audit-details.js';
import { sessionOf } from '../passwords/current-password.js';
import { beginSession, beginSessionOrChallenge, lockProven, signInRefused } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedClient, checkedPassword } from '../fields.js';
import { mailSecurityEvent } from '../mail/mail-security-event.js';
import { shownIdentity } from '../mail/security-mail.js';
import { hashPassword } from '../passwords/password.js';
import { clearFailures } from '../passwords/throttle.js';
import { hashToken } from '../token.js';

/** Raises invalid_request for the password (the link can then be used again), sign_in_refused and overloaded. */
export async function resetPassword(request: ResetPasswordRequest, context: CallContext, deps: UserDeps): Promise<ResetPasswordResponse> {
  const { audit, db, identities, users, resets, sessions, clock, log } = deps;
  const password = checkedPassword(request.newPassword, 'new_password');
  const hash = hashToken(request.token);
  const userId = await resets.find(hash, clock.nowMs());
  const stored = userId === undefined ? undefined : await users.find(userId);
  if (userId === undefined || stored === undefined || stored.user.isDisabled) throw signInRefused();
  const client = checkedClient(request.client);
  // The session of a user with a second factor began with it.
  const session = stored.user.hasSecondFactor ? await sessionOf(stored.user, request.sessionId, deps) : undefined;
  if (stored.user.hasSecondFactor && session === undefined)
    return beginSessionOrChallenge(stored, client, SignInMethod.SIGN_IN_METHOD_LINK, context, deps);
  const hashed = await hashPassword(password);
  const user = await db.transaction(async (tx) => {
    // While the password was hashed, the user may have set up a second factor, ended the session, or left the address to which the link was mailed.
    await lockProven(tx, stored, deps, session);
    // Only one request can use the link.
    if ((await resets.find(hash, clock.nowMs(), tx)) === undefined) throw signInRefused();
    // The link proves that the user reads the mail of the address, which they have had since.
    const { before, after } = found(await users.update(tx, userId, { password: hashed, emailVerified: true }), 'user');
    await resets.endAll(tx, userId);
    await sessions.end(tx, userId, { butId: undefined });
    await sessions.endLink(tx, userId);
    // The user who first entered the address may not be its owner, and could otherwise still sign in with an identity that they connected.
    if (!before.emailVerified) await identities.removeAll(tx, userId);
    const remaining = (await identities.list(userId, tx)).map((each) => shownIdentity(each, deps.identityProvider));
    await mailSecurityEvent(tx, after, { event: 'password_reset', identities: remaining }, request.language, deps);
    await audit.append(tx, context, { action: 'profile.password_reset', targetId: after.id, actor: provenActor(after, client) });
    return after;
  });
  await clearFailures({ email: stored.user.email, address: client.address }, deps);
  log.info({ user_id: stored.user.id }, 'password reset with a mailed link');
  const signedIn = await beginSession({ user, password: hashed }, client, SignInMethod.SIGN_IN_METHOD_PASSWORD, context, deps);
  return { signedIn, challenge: undefined };
}
