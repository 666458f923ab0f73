// ConnectIdentity: connects an identity with the user of a session.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { ConnectIdentityRequest, ConnectIdentityResponse, Identity } from '#proto/auth/v1/users.js';
import { sessionActor } from '../audit/audit-details.js';
import { claimsOfResponse, newIdentity } from '../oidc/claims.js';
import type { UserDeps } from '../deps.js';
import { mailSecurityEvent } from '../mail/mail-security-event.js';
import { shownIdentity } from '../mail/security-mail.js';
import { lockSession, userOfSession } from '../passwords/current-password.js';
import { assertRecentlyAuthenticated } from '../second-factor/recent.js';
import { identitiesMax, unlessDuplicate } from '../store/identities.js';

/**
 * Raises invalid_request, not_found, failed_precondition for too many identities and for a user who has not authenticated recently, and
 * already_exists for another user's identity. A repeat changes nothing.
 */
export async function connectIdentity(
  request: ConnectIdentityRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<ConnectIdentityResponse> {
  const { audit, db, identities, clock, log } = deps;
  const claims = await claimsOfResponse(request.response, deps.identityProvider);
  const who = await userOfSession(request.sessionId, deps);
  const { userId, stored } = who;
  // The gateway confirms the password before the redirect to the provider, but keeps the session in a cookie that the client can forge.
  assertRecentlyAuthenticated(who.session, clock);
  const identity = newIdentity(claims, clock.nowMs());
  let earlier: Identity | undefined;
  const isConnected = await unlessDuplicate(() =>
    db.transaction(async (tx) => {
      await lockSession(tx, who, deps);
      earlier = await identities.find(tx, userId, claims);
      if (earlier !== undefined) return;
      const { length } = await identities.list(userId, tx);
      if (length >= identitiesMax) throw fault('identities_full', { max: identitiesMax });
      await identities.add(tx, userId, identity);
      const shown = shownIdentity(claims, deps.identityProvider);
      await mailSecurityEvent(tx, stored.user, { event: 'connected', identity: shown }, request.language, deps);
      await audit.append(tx, context, {
        action: 'profile.connect',
        targetId: identity.id,
        detail: { user: stored.user.id, issuer: claims.issuer, email: claims.email },
        actor: sessionActor(who, context),
      });
    }),
  );
  if (!isConnected) throw fault('identity_taken', {});
  if (earlier !== undefined) return { identity: earlier };
  log.info({ user_id: stored.user.id, issuer: claims.issuer }, 'identity connected');
  return { identity: { id: identity.id, issuer: claims.issuer, email: claims.email, createdAtMs: identity.createdAtMs } };
}
