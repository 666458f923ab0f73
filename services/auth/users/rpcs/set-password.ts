// SetPassword: sets the password of the user of a session.
import type { CallContext } from '#client/call-context.js';
import { type SetPasswordRequest, type SetPasswordResponse, SignInMethod } from '#proto/auth/v1/users.js';
import { sessionActor } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { checkedId } from '../../requests/fields.js';
import { checkedPassword } from '../fields.js';
import { hashPassword } from '../passwords/password.js';
import { mailSecurityEvent } from '../mail/mail-security-event.js';
import { assertCurrentPassword, lockSession, userOfSession } from '../passwords/current-password.js';

/** How long after a sign-in with a link the password can be set without the current one, in milliseconds. */
const linkTrustMs = 15 * 60_000;

/** Raises invalid_request, not_found, sign_in_refused for a wrong current password, sign_in_throttled, overloaded and failed_precondition. */
export async function setPassword(request: SetPasswordRequest, context: CallContext, deps: UserDeps): Promise<SetPasswordResponse> {
  const { audit, db, identities, users, resets, sessions, clock, log } = deps;
  const sessionId = checkedId('session_id', 'sess', request.sessionId);
  const password = checkedPassword(request.newPassword, 'new_password');
  const who = await userOfSession(request.sessionId, deps);
  const { session, userId } = who;
  const isByLink = session.method === SignInMethod.SIGN_IN_METHOD_LINK;
  const isTrusted = isByLink && BigInt(clock.nowMs()) < session.createdAtMs + BigInt(linkTrustMs);
  if (!isTrusted) await assertCurrentPassword(who, request.currentPassword, context, deps);
  const hashed = await hashPassword(password);
  await db.transaction(async (tx) => {
    await lockSession(tx, who, deps);
    await users.update(tx, userId, { password: hashed });
    await sessions.end(tx, userId, { butId: sessionId });
    await sessions.endLink(tx, userId);
    await resets.endAll(tx, userId);
    // The user who first entered the address may not be its owner, and could otherwise still sign in with an identity that they connected. The
    // owner can connect their own identities again.
    if (isTrusted && !who.stored.user.emailVerified) await identities.removeAll(tx, userId);
    await mailSecurityEvent(tx, who.stored.user, { event: 'password' }, request.language, deps);
    await audit.append(tx, context, { action: 'profile.password', targetId: session.userId, actor: sessionActor(who, context) });
  });
  log.info({ user_id: session.userId }, 'password set');
  return {};
}
