// ConfirmEmail: changes the email address of the user of a session with the link that was mailed to the new one.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { ConfirmEmailRequest, ConfirmEmailResponse } from '#proto/auth/v1/users.js';
import { found } from '../../requests/found.js';
import { sessionActor } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { mailSecurityEvent } from '../mail/mail-security-event.js';
import { lockSession, userOfSession } from '../passwords/current-password.js';
import { passwordMark } from '../second-factor/challenges.js';
import { hashToken } from '../token.js';

/** How long a link can be used, in milliseconds. */
export const emailChangeLifeMs = 24 * 3_600_000;
export const emailChangePurpose = 'email change';

/** The sealed contents of a mailed link: nothing is stored before the link is used, and then its hash until it expires. */
export interface EmailChange {
  readonly userId: string;
  /** The address that the user had; another change of it ends the link. */
  readonly formerEmail: string;
  /** The mark of the password that the user had: a new password ends what another user of the session may have begun. */
  readonly password: string;
  readonly email: string;
  readonly expiresAtMs: number;
}

/** Raises invalid_request, not_found, sign_in_refused for a link that cannot be used, and already_exists for an address that another user has. */
export async function confirmEmail(request: ConfirmEmailRequest, context: CallContext, deps: UserDeps): Promise<ConfirmEmailResponse> {
  const { audit, box, db, factors, sessions, users, clock, log } = deps;
  const who = await userOfSession(request.sessionId, deps);
  const text = box.open(request.token, emailChangePurpose);
  const change = text === undefined ? undefined : (JSON.parse(text) as EmailChange);
  if (change === undefined || change.expiresAtMs <= clock.nowMs()) throw fault('email_link_ended', {});
  // Its recipient may not be the user who requested it, and must not confirm the request of a stranger.
  if (change.userId !== who.stored.user.id) throw fault('email_link_other', {});
  const user = await db.transaction(async (tx) => {
    await lockSession(tx, who, deps);
    const present = found(await users.lock(tx, who.userId), 'user');
    if (present.user.email !== change.formerEmail || passwordMark(present.password) !== change.password)
      throw fault('email_link_ended', {});
    // The user may have the former address again.
    if (!(await factors.takeChallenge(tx, hashToken(request.token), change.expiresAtMs))) throw fault('email_link_ended', {});
    const { before, after } = found(await users.update(tx, who.userId, { email: change.email, emailVerified: true }), 'user');
    // An operator may have mailed a link to the former address.
    await sessions.endLink(tx, who.userId);
    await mailSecurityEvent(tx, before, { event: 'email' }, request.language, deps);
    const detail = { email: after.email, former_email: before.email };
    await audit.append(tx, context, { action: 'profile.update', targetId: after.id, detail, actor: sessionActor(who, context) });
    return after;
  });
  log.info({ user_id: user.id }, 'email address changed by the user');
  return { user };
}
