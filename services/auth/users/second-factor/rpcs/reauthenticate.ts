// Reauthenticate: authenticates the user of a session again.
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { IdentityResponse, ReauthenticateRequest, ReauthenticateResponse } from '#proto/auth/v1/users.js';
import { sessionActor } from '../../audit/audit-details.js';
import { signInRefused } from '../../begin-session.js';
import { authenticatedAtOf, claimsOfResponse } from '../../oidc/claims.js';
import { identityRefusal } from '../../oidc/refusals.js';
import { assertCurrentPassword, type SessionUser, userOfSession } from '../../passwords/current-password.js';
import type { UserDeps } from '../../deps.js';
import { proveSecondFactor } from '../prove.js';
import { recentMs } from '../recent.js';

/** Raises invalid_request, not_found, sign_in_refused, sign_in_throttled, service_unavailable and overloaded. */
export async function reauthenticate(
  { sessionId, by }: ReauthenticateRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<ReauthenticateResponse> {
  const who = await userOfSession(sessionId, deps);
  let atMs = deps.clock.nowMs();
  if (by?.$case === 'secondFactor') {
    await proveSecondFactor(by.value, sessionId, sessionActor(who, context).clientAddress, context, deps);
  } else if (by?.$case === 'identity') {
    atMs = await authenticatedByProvider(by.value, who, deps);
  } else {
    if (by === undefined || who.stored.password === undefined) throw signInRefused();
    await assertCurrentPassword(who, by.value, context, deps);
  }
  await deps.sessions.noteAuthentication(idToBytes('sess', sessionId)!, atMs);
  return {};
}

/** Returns when the provider authenticated the user of the session. Raises sign_in_refused with details.why, and what `claimsOfResponse` raises. */
async function authenticatedByProvider(response: IdentityResponse, { stored }: SessionUser, deps: UserDeps): Promise<number> {
  const claims = await claimsOfResponse(response, deps.identityProvider);
  if ((await deps.identities.findUser(claims))?.user.id !== stored.user.id) throw identityRefusal('identity_other');
  if (claims.authenticatedAtMs === undefined) throw identityRefusal('auth_time_missing');
  const nowMs = deps.clock.nowMs();
  const atMs = authenticatedAtOf(claims, nowMs);
  if (nowMs - atMs > recentMs) throw identityRefusal('not_reauthenticated');
  return atMs;
}
