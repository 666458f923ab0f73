// SetPassword: sets the password of the person of a session.
import type { CallContext } from '#client/call-context.js';
import type { SetPasswordRequest, SetPasswordResponse } from '#proto/auth/v1/users.js';
import { sessionActor } from '../audit-details.js';
import type { UserDeps } from '../deps.js';
import { checkedId, checkedPassword } from '../fields.js';
import { hashPassword } from '../password.js';
import { assertPresentPassword, personOfSession } from '../current-password.js';

/** How long a session that was begun by a link may set a password without the present one, in milliseconds. */
const linkTrustMs = 15 * 60_000;

/** Raises invalid_request, not_found, sign_in_refused for a wrong present password, sign_in_throttled and overloaded. */
export async function setPassword(request: SetPasswordRequest, context: CallContext, deps: UserDeps): Promise<SetPasswordResponse> {
  const { audit, db, identities, users, resets, sessions, clock, log } = deps;
  const sessionId = checkedId('session_id', 'sess', request.sessionId);
  const password = checkedPassword(request.newPassword, 'new_password');
  const who = await personOfSession(request.sessionId, deps);
  const { session, userId } = who;
  const isTrusted = session.signedInWithLink && BigInt(clock.nowMs()) < session.createdAtMs + BigInt(linkTrustMs);
  if (!isTrusted) await assertPresentPassword(who, request.currentPassword, deps);
  const hashed = await hashPassword(password);
  await db.transaction(async (tx) => {
    await users.update(tx, userId, { password: hashed });
    await sessions.end(tx, userId, { butId: sessionId });
    await resets.endAll(tx, userId);
    // The user of a link may not be the one who entered the address first and could still sign in with their identity. They connect their own again.
    if (isTrusted && !who.person.user.emailVerified) await identities.removeAll(tx, userId);
    await audit.append(tx, context, { action: 'profile.password', targetId: session.userId, actor: sessionActor(who, context) });
  });
  log.info({ user_id: session.userId }, 'password set');
  return {};
}
