// AcceptInvitation: makes the invited user a member and begins their session.
import type { Knex } from 'knex';
import { hasReason } from '#client/errors/app-error.js';
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import {
  type AcceptInvitationRequest,
  type AcceptInvitationResponse,
  type Client,
  type Invitation,
  type Session,
  SignInMethod,
} from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { projectRoleWords, provenActor, roleWord } from '../audit/audit-details.js';
import { beginSession, beginSessionOrChallenge, lockProven, signInRefused } from '../begin-session.js';
import { sessionOf } from '../passwords/current-password.js';
import type { UserDeps } from '../deps.js';
import { newUserOf } from '../new-user.js';
import { checkedClient, checkedPassword } from '../fields.js';
import { authenticatedAtOf, claimsOfResponse, newIdentity } from '../oidc/claims.js';
import type { IdentityClaims } from '../oidc/identity-claims.js';
import { identityRefusal } from '../oidc/refusals.js';
import { hashPassword } from '../passwords/password.js';
import { unlessDuplicate } from '../store/identities.js';
import type { StoredUser } from '../store/users.js';
import { attemptsMax, checkPassword, giveAttemptBack, takeAttempt } from '../passwords/throttle.js';
import { hashToken } from '../token.js';
import { newUserOfIdentity, userByEmail } from './sign-in-with-identity.js';

/** An invited user who has proven their identity. */
interface Invited {
  readonly proven: StoredUser;
  readonly isNew: boolean;
  /** The session with which they have proven it. */
  readonly session?: Session;
  /** The identity with which they have proven it. */
  readonly claims?: IdentityClaims;
}

/** Raises invalid_request, not_found, sign_in_refused, sign_in_throttled, service_unavailable and overloaded. */
export async function acceptInvitation(
  request: AcceptInvitationRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<AcceptInvitationResponse> {
  const { audit, db, identities, members, users, clock, log } = deps;
  const client = checkedClient(request.client);
  const invitation = found(await members.findInvitation(hashToken(request.token), clock.nowMs()), 'invitation');
  const { proven, isNew, session, claims } =
    request.identity === undefined
      ? await invitedWithinLimit(invitation, request, client, deps)
      : await invitedByIdentity(invitation, request, client, context, deps);
  const { user } = proven;
  const { SIGN_IN_METHOD_IDENTITY: byIdentity, SIGN_IN_METHOD_PASSWORD: byPassword } = SignInMethod;
  const method = session?.method ?? (claims === undefined ? byPassword : byIdentity);
  // The identity provider is responsible for how it authenticates its users.
  if (claims === undefined && session === undefined && user.hasSecondFactor)
    return beginSessionOrChallenge(proven, client, method, context, deps);
  const accountId = idToBytes('acct', invitation.accountId)!;
  const userId = idToBytes('user', user.id)!;
  const accept = async (tx: Knex.Transaction): Promise<void> => {
    if (!isNew) await lockProven(tx, proven, deps, session);
    else if (claims === undefined) await users.add(tx, proven);
    else await identities.addUser(tx, proven, newIdentity(claims, clock.nowMs()));
    // Otherwise the user could become a member after it was checked below that they are none.
    await members.lock(tx, accountId);
    // Only one request can use the invitation.
    found(await members.endInvitation(tx, accountId, idToBytes('inv', invitation.id)!), 'invitation');
    // A user who has become a member in the meantime keeps their roles.
    const isMember = (await members.ofUser(userId, tx)).some(({ account }) => account?.id === invitation.accountId);
    if (!isMember) {
      await members.put(tx, accountId, { userId, role: invitation.role, nowMs: clock.nowMs() });
      await members.changeProjectRoles(tx, accountId, userId, () => invitation.projectRoles);
    }
    await audit.append(tx, context, {
      action: 'member.accept',
      accountId: invitation.accountId,
      targetId: user.id,
      detail: {
        email: user.email,
        role: roleWord(invitation.role),
        invitation: invitation.id,
        ...projectRoleWords(invitation.projectRoles),
        ...(claims === undefined ? {} : { issuer: claims.issuer }),
      },
      actor: provenActor(user, client),
    });
  };
  if (!(await unlessDuplicate(() => db.transaction(accept)))) throw identityRefusal('email_taken');
  if (isNew) log.info({ user_id: user.id, issuer: claims?.issuer }, 'user added by invitation');
  const authenticated = claims === undefined ? {} : { authenticatedAtMs: authenticatedAtOf(claims, clock.nowMs()) };
  return {
    signedIn: await beginSession(proven, client, method, context, deps, { present: session, ...authenticated }),
    challenge: undefined,
  };
}

/**
 * Returns the user of the identity, who may be new. The provider must have verified the invited address, unless the user has it here: they could sign in
 * first, and accept with their session.
 */
async function invitedByIdentity(
  { email }: Invitation,
  { identity, language }: AcceptInvitationRequest,
  client: Client,
  context: CallContext,
  deps: UserDeps,
): Promise<Invited> {
  const claims = await claimsOfResponse(identity, deps.identityProvider);
  const connected = await deps.identities.findUser(claims);
  if (connected?.user.email !== email) {
    if (claims.email !== '' && claims.email !== email) throw identityRefusal('invitation_other');
    if (!claims.emailVerified) throw identityRefusal('email_unverified');
  }
  const known = connected ?? (await userByEmail(claims, client, language, context, deps));
  if (known?.user.isDisabled === true) throw identityRefusal('disabled');
  return { proven: known ?? newUserOfIdentity(claims, deps.clock.nowMs()), isNew: known === undefined, claims };
}

/** Returns what `invited` returns. Limits attempts to add a new user: inviters see the links, and could find out which addresses are known. */
async function invitedWithinLimit(
  invitation: Invitation,
  request: AcceptInvitationRequest,
  client: Client,
  deps: UserDeps,
): ReturnType<typeof invited> {
  if (request.name === '') return invited(invitation, request, client, deps);
  const scope = `taken ${invitation.invitedByUserId}`;
  await takeAttempt(scope, attemptsMax.takenEmail, deps);
  try {
    const user = await invited(invitation, request, client, deps);
    await giveAttemptBack(scope, deps);
    return user;
  } catch (error) {
    if (!hasReason(error, 'sign_in_refused')) await giveAttemptBack(scope, deps);
    throw error;
  }
}

/**
 * Returns the user with the address after checking their password or session; for an unknown address a new user. A request
 * without a name is from a user who has a password here, and one with a name must be valid for a new user, whether or not the address is known.
 */
async function invited(
  { email, invitedByUserId }: Invitation,
  { name, password, sessionId }: AcceptInvitationRequest,
  { address }: Client,
  deps: UserDeps,
): Promise<Invited> {
  const { users, clock } = deps;
  const hasName = name !== '';
  if (hasName) {
    checkedName(name);
    checkedPassword(password);
  }
  const known = await users.findByEmail(email);
  if (known !== undefined) {
    const session = await sessionOf(known.user, sessionId, deps);
    if (session !== undefined) return { proven: known, isNew: false, session };
    const isRight = await checkPassword({ email, address, userId: known.user.id }, password, known.password, deps);
    if (!isRight || known.user.isDisabled) throw signInRefused();
    return { proven: known, isNew: false };
  }
  if (!hasName) {
    await checkPassword({ email, address, userId: undefined }, password, undefined, deps);
    throw signInRefused();
  }
  // Members see the links of the invitations that they create, so the inviter could accept one themselves. The address counts as verified only
  // if an operator invited it.
  const inviter = await users.find(idToBytes('user', invitedByUserId)!);
  const emailVerified = inviter?.user.isOperator === true;
  const user = newUserOf({ email, name: checkedName(name), hasPassword: true, emailVerified }, clock.nowMs());
  return { proven: { user, password: await hashPassword(password) }, isNew: true };
}
