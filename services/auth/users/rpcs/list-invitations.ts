// ListInvitations: lists the open invitations of an account.
import type { CallContext } from '#client/call-context.js';
import type { ListInvitationsRequest, ListInvitationsResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes } from '../../requests/fields.js';
import type { UserDeps } from '../deps.js';

/** Raises invalid_request. */
export async function listInvitations(
  request: ListInvitationsRequest,
  _context: CallContext,
  { members, clock }: UserDeps,
): Promise<ListInvitationsResponse> {
  return { invitations: await members.invitations(accountIdBytes(request.accountId), clock.nowMs()) };
}
