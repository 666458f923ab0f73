// AcceptInvitation: makes the invited user a member and begins their session.
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
import { hashPassword } from '../passwords/password.js';
import type { StoredUser } from '../store/users.js';
import { attemptsMax, checkPassword, giveAttemptBack, takeAttempt } from '../passwords/throttle.js';
import { hashToken } from '../token.js';

/** Raises invalid_request, not_found, sign_in_refused, sign_in_throttled and overloaded. */
export async function acceptInvitation(
  request: AcceptInvitationRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<AcceptInvitationResponse> {
  const { audit, db, members, users, clock, log } = deps;
  const client = checkedClient(request.client);
  const invitation = found(await members.findInvitation(hashToken(request.token), clock.nowMs()), 'invitation');
  const { proven, isNew, session } = await invitedWithinLimit(invitation, request, client, deps);
  const { user } = proven;
  const method = session?.method ?? SignInMethod.SIGN_IN_METHOD_PASSWORD;
  if (session === undefined && user.hasSecondFactor) return beginSessionOrChallenge(proven, client, method, context, deps);
  const accountId = idToBytes('acct', invitation.accountId)!;
  const userId = idToBytes('user', user.id)!;
  await db.transaction(async (tx) => {
    await (isNew ? users.add(tx, proven) : lockProven(tx, proven, deps, session));
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
      },
      actor: provenActor(user, client),
    });
  });
  if (isNew) log.info({ user_id: user.id }, 'user added by invitation');
  return { signedIn: await beginSession(proven, client, method, context, deps, { present: session }), challenge: undefined };
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
): Promise<{ proven: StoredUser; isNew: boolean; session?: Session }> {
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
