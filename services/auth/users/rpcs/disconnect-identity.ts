// DisconnectIdentity: disconnects an identity from the user of a session.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { DisconnectIdentityRequest, DisconnectIdentityResponse } from '#proto/auth/v1/users.js';
import { checkedId } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { sessionActor } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { mailSecurityEvent } from '../mail/mail-security-event.js';
import { shownIdentity } from '../mail/security-mail.js';
import { lockSession, userOfSession } from '../passwords/current-password.js';
import { assertRecentlyAuthenticated } from '../second-factor/recent.js';

/** Raises invalid_request, not_found, and failed_precondition for the user's only way to sign in and for a user who has not authenticated recently. */
export async function disconnectIdentity(
  request: DisconnectIdentityRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<DisconnectIdentityResponse> {
  const { audit, db, identities, clock, log } = deps;
  const id = checkedId('identity_id', 'idn', request.identityId);
  const who = await userOfSession(request.sessionId, deps);
  assertRecentlyAuthenticated(who.session, clock);
  const { userId } = who;
  const { user } = who.stored;
  await db.transaction(async (tx) => {
    // Of two requests at once for the last two identities, the second finds only one.
    await lockSession(tx, who, deps);
    const present = await identities.list(userId, tx);
    const { issuer, email } = found(
      present.find((identity) => identity.id === request.identityId),
      'identity',
    );
    if (!user.hasPassword && present.length === 1) throw fault('only_sign_in', {});
    found((await identities.remove(tx, userId, id)) ? true : undefined, 'identity');
    const identity = shownIdentity({ issuer, email }, deps.identityProvider);
    await mailSecurityEvent(tx, user, { event: 'disconnected', identity }, request.language, deps);
    const detail = { user: user.id, issuer, email };
    await audit.append(tx, context, {
      action: 'profile.disconnect',
      targetId: request.identityId,
      detail,
      actor: sessionActor(who, context),
    });
  });
  log.info({ user_id: user.id }, 'identity disconnected');
  return {};
}
