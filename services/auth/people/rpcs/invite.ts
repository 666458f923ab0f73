// Invite: asks somebody into an account.
import { AppError } from '#kit/errors/app-error.js';
import { idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import type { InviteRequest, InviteResponse } from '#proto/auth/v1/people.js';
import { accountIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { PeopleDeps } from '../deps.js';
import { checkedEmail, checkedId, checkedRole } from '../fields.js';
import { mintToken } from '../token.js';

/** Raises invalid_request, not_found, already_exists for somebody who belongs to the account, and failed_precondition while too many invitations of it are open. */
export async function invite(request: InviteRequest, _context: CallContext, { accounts, people, members, lifetimes, clock, log }: PeopleDeps): Promise<InviteResponse> {
  const account = found(await accounts.find(accountIdBytes(request.accountId)), 'account');
  checkedId('invited_by_user_id', 'user', request.invitedByUserId);
  const email = checkedEmail(request.email);
  const known = await people.findByEmail(email);
  const memberships = known === undefined ? [] : await members.ofUser(idToBytes('user', known.user.id)!);
  if (memberships.some((membership) => membership.account?.id === account.id)) {
    throw new AppError('already_exists', 'They belong to the account already; change their role instead.', { details: { field: 'email' } });
  }
  const nowMs = clock.nowMs();
  const { token, hash } = mintToken();
  const invitation = {
    id: newId('inv', nowMs),
    accountId: account.id,
    accountName: account.name,
    email,
    role: checkedRole(request.role),
    invitedByUserId: request.invitedByUserId,
    createdAtMs: BigInt(nowMs),
    expiresAtMs: BigInt(nowMs + lifetimes.invitationMs),
  };
  await members.invite(invitation, hash);
  log.info({ invitation_id: invitation.id, account_id: account.id }, 'invited');
  return { invitation, token };
}
