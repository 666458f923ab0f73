// RevokeInvitation: ends an invitation.
import type { CallContext } from '#client/call-context.js';
import type { RevokeInvitationRequest, RevokeInvitationResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { PeopleDeps } from '../deps.js';
import { checkedId } from '../fields.js';

/** Raises invalid_request and not_found. */
export async function revokeInvitation(
  request: RevokeInvitationRequest,
  _context: CallContext,
  { members }: PeopleDeps,
): Promise<RevokeInvitationResponse> {
  const ended = await members.endInvitation(accountIdBytes(request.accountId), checkedId('invitation_id', 'inv', request.invitationId));
  found(ended ? true : undefined, 'invitation');
  return {};
}
