// SignInWithIdentity: begins a session for the user whom an identity provider has authenticated.
import type { CallContext } from '#client/call-context.js';
import { type Client, SignInMethod, type SignInWithIdentityRequest, type SignInWithIdentityResponse } from '#proto/auth/v1/users.js';
import { provenActor } from '../audit/audit-details.js';
import { beginSession } from '../begin-session.js';
import { authenticatedAtOf, claimsOfResponse, newIdentity } from '../oidc/claims.js';
import type { IdentityClaims } from '../oidc/identity-claims.js';
import { identityRefusal } from '../oidc/refusals.js';
import type { UserDeps } from '../deps.js';
import { checkedClient } from '../fields.js';
import { newAccountOf } from '../../new-account.js';
import { newUserOf } from '../new-user.js';
import { mailSecurityEvent } from '../mail/mail-security-event.js';
import { shownIdentity } from '../mail/security-mail.js';
import { unlessDuplicate } from '../store/identities.js';
import type { StoredUser } from '../store/users.js';

/** Raises invalid_request, not_found, service_unavailable, overloaded, and sign_in_refused with details.why. */
export async function signInWithIdentity(
  request: SignInWithIdentityRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<SignInWithIdentityResponse> {
  const claims = await claimsOfResponse(request.response, deps.identityProvider);
  const client = checkedClient(request.client);
  const known = (await deps.identities.findUser(claims)) ?? (await userByEmail(claims, client, request.language, context, deps));
  if (known?.user.isDisabled === true) throw identityRefusal('disabled');
  if (known === undefined && !deps.config.signUp && !deps.config.oidcSignUp) throw identityRefusal('unknown_user');
  const proven = known ?? (await added(claims, client, context, deps));
  // Without a second factor of ours: the provider is responsible for how it authenticates its users.
  const authenticatedAtMs = authenticatedAtOf(claims, deps.clock.nowMs());
  const signedIn = await beginSession(proven, client, SignInMethod.SIGN_IN_METHOD_IDENTITY, context, deps, { authenticatedAtMs });
  return { signedIn, isNew: known === undefined };
}

/**
 * Finds the user with the verified address and connects the identity with them; undefined when there is none. Raises sign_in_refused with details.why.
 */
export async function userByEmail(
  claims: IdentityClaims,
  client: Client,
  language: string | undefined,
  context: CallContext,
  deps: UserDeps,
): Promise<StoredUser | undefined> {
  const { audit, db, identities, users, clock, log } = deps;
  if (!claims.emailVerified) throw identityRefusal('email_unverified');
  const stored = await users.findByEmail(claims.email);
  if (stored === undefined || stored.user.isDisabled) return stored;
  // Otherwise an attacker could sign up with the address of another user, who would later be signed in to the attacker's user.
  if (!stored.user.emailVerified) throw identityRefusal('email_taken');
  const { user } = stored;
  const identity = newIdentity(claims, clock.nowMs());
  const isConnected = await unlessDuplicate(() =>
    db.transaction(async (tx) => {
      if (!(await identities.addByEmail(tx, user, identity))) throw identityRefusal('email_taken');
      const shown = shownIdentity(claims, deps.identityProvider);
      await mailSecurityEvent(tx, user, { event: 'connected', identity: shown }, language, deps);
      await audit.append(tx, context, {
        action: 'profile.connect',
        targetId: identity.id,
        detail: { user: user.id, issuer: claims.issuer, email: claims.email },
        actor: provenActor(user, client),
      });
    }),
  );
  if (!isConnected) throw identityRefusal('email_taken');
  log.info({ user_id: stored.user.id, issuer: claims.issuer }, 'identity connected by email address');
  return stored;
}

async function added(
  claims: IdentityClaims,
  client: Client,
  context: CallContext,
  { audit, db, identities, clock, log }: UserDeps,
): Promise<StoredUser> {
  const nowMs = clock.nowMs();
  const stored = newUserOfIdentity(claims, nowMs);
  const { user } = stored;
  const account = newAccountOf(user.name, nowMs);
  const isAdded = await unlessDuplicate(() =>
    db.transaction(async (tx) => {
      await identities.addWithAccount(tx, stored, account, newIdentity(claims, nowMs));
      await audit.append(tx, context, {
        action: 'account.sign_up',
        accountId: account.id,
        targetId: user.id,
        detail: { email: user.email, issuer: claims.issuer },
        actor: provenActor(user, client),
      });
    }),
  );
  if (!isAdded) throw identityRefusal('email_taken');
  log.info({ user_id: user.id, account_id: account.id, issuer: claims.issuer }, 'signed up with an identity');
  return stored;
}

/** Returns a new user with the verified address of an identity, not stored yet. */
export function newUserOfIdentity({ email, name }: IdentityClaims, nowMs: number): StoredUser {
  const fields = { email, name: name === '' ? email.slice(0, 200) : name, hasPassword: false, emailVerified: true };
  return { user: newUserOf(fields, nowMs), password: undefined };
}
