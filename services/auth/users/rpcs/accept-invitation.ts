// AcceptInvitation: makes the invited a member and begins their session.
import { fault } from '#client/errors/fault.js';
import { idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { AcceptInvitationRequest, AcceptInvitationResponse, Client, Invitation, User } from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { beginSession, signInRefused } from '../begin-session.js';
import type { PeopleDeps } from '../deps.js';
import { checkedClient, checkedId, checkedPassword } from '../fields.js';
import { hashPassword } from '../password.js';
import { checkPassword } from '../throttle.js';
import { hashToken } from '../token.js';

/** Raises invalid_request, not_found, sign_in_refused, sign_in_throttled and overloaded. */
export async function acceptInvitation(
  request: AcceptInvitationRequest,
  context: CallContext,
  deps: PeopleDeps,
): Promise<AcceptInvitationResponse> {
  const { members, clock } = deps;
  const client = checkedClient(request.client);
  const invitation = found(await members.findInvitation(hashToken(request.token), clock.nowMs()), 'invitation');
  const user = await invited(invitation, request, client, deps);
  const accountId = idToBytes('acct', invitation.accountId)!;
  // Whoever ends the invitation may use it, and nobody after them.
  found((await members.endInvitation(accountId, idToBytes('inv', invitation.id)!)) ? true : undefined, 'invitation');
  const userId = idToBytes('user', user.id)!;
  // Whoever has become a member meanwhile keeps the role that they were given.
  const isMember = (await members.ofUser(userId)).some(({ account }) => account?.id === invitation.accountId);
  if (!isMember) await members.put(accountId, userId, invitation.role, clock.nowMs());
  return { signedIn: await beginSession(user, client, false, context, deps) };
}

/** The person who is known by the address, if the password or the session is theirs, or a new one. */
async function invited(
  { email, invitedByUserId }: Invitation,
  { name, password, sessionId }: AcceptInvitationRequest,
  { address }: Client,
  deps: PeopleDeps,
): Promise<User> {
  const { users, clock, log } = deps;
  const known = await users.findByEmail(email);
  if (known !== undefined) {
    if (sessionId !== '' && (await isSessionOf(known.user, sessionId, deps))) return known.user;
    if (!(await checkPassword({ email, address }, password, known.password, deps))) throw signInRefused();
    return known.user;
  }
  const nowMs = clock.nowMs();
  // Members see the links of the invitations that they make, so that one of them could have accepted it. Only the operator is believed.
  const inviter = await users.find(idToBytes('user', invitedByUserId)!);
  const emailVerified = inviter?.user.isOperator === true;
  const user = {
    id: newId('user', nowMs),
    email,
    name: checkedName(name),
    isOperator: false,
    isDisabled: false,
    hasPassword: true,
    createdAtMs: BigInt(nowMs),
    emailVerified,
  };
  const added = await users.add({ user, password: await hashPassword(checkedPassword(password)) });
  if (!added) throw fault('email_taken_meanwhile', {}, { details: { field: 'email' } });
  log.info({ user_id: user.id }, 'person added by invitation');
  return user;
}

async function isSessionOf(user: User, sessionId: string, { sessions, clock }: PeopleDeps): Promise<boolean> {
  return (await sessions.find(checkedId('session_id', 'sess', sessionId), clock.nowMs()))?.userId === user.id;
}
