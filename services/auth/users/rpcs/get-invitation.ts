// GetInvitation: returns the invitation behind a link.
import type { CallContext } from '#client/call-context.js';
import type { GetInvitationRequest, GetInvitationResponse } from '#proto/auth/v1/users.js';
import { found } from '../../requests/found.js';
import type { UserDeps } from '../deps.js';
import { hashToken } from '../token.js';

/** Raises not_found. */
export async function getInvitation(
  request: GetInvitationRequest,
  _context: CallContext,
  { members, clock }: UserDeps,
): Promise<GetInvitationResponse> {
  const invitation = found(await members.findInvitation(hashToken(request.token), clock.nowMs()), 'invitation');
  return { invitation };
}
