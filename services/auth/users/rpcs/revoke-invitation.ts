// RevokeInvitation: revokes an open invitation.
import type { CallContext } from '#client/call-context.js';
import type { RevokeInvitationRequest, RevokeInvitationResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes, checkedId } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { assertMayChangeInvitation } from '../actor-rules.js';
import { roleWord } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';

/** Raises invalid_request, not_found, and role_not_permitted for an admin who revokes the invitation of an owner. */
export async function revokeInvitation(
  request: RevokeInvitationRequest,
  context: CallContext,
  { audit, db, members }: UserDeps,
): Promise<RevokeInvitationResponse> {
  const accountId = accountIdBytes(request.accountId);
  const id = checkedId('invitation_id', 'inv', request.invitationId);
  await db.transaction(async (tx) => {
    const { email, role } = found(await members.endInvitation(tx, accountId, id), 'invitation');
    assertMayChangeInvitation(context, { accountId: request.accountId, role });
    await audit.append(tx, context, {
      action: 'member.uninvite',
      accountId: request.accountId,
      targetId: request.invitationId,
      detail: { email, role: roleWord(role) },
    });
  });
  return {};
}
