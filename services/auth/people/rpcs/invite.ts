// Invite: asks somebody into an account.
import { newId } from '#kit/id.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import type { InviteRequest, InviteResponse } from '#proto/auth/v1/people.js';
import { accountIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { PeopleDeps } from '../deps.js';
import { checkedEmail, checkedId, checkedRole } from '../fields.js';
import { mintToken } from '../token.js';

/** Raises invalid_request and not_found. */
export async function invite(request: InviteRequest, _context: CallContext, { accounts, members, lifetimes, clock, log }: PeopleDeps): Promise<InviteResponse> {
  const account = found(await accounts.find(accountIdBytes(request.accountId)), 'account');
  checkedId('invited_by_user_id', 'user', request.invitedByUserId);
  const nowMs = clock.nowMs();
  const { token, hash } = mintToken();
  const invitation = {
    id: newId('inv', nowMs),
    accountId: account.id,
    accountName: account.name,
    email: checkedEmail(request.email),
    role: checkedRole(request.role),
    invitedByUserId: request.invitedByUserId,
    createdAtMs: BigInt(nowMs),
    expiresAtMs: BigInt(nowMs + lifetimes.invitationMs),
  };
  await members.invite(invitation, hash);
  log.info({ invitation_id: invitation.id, account_id: account.id }, 'invited');
  return { invitation, token };
}
