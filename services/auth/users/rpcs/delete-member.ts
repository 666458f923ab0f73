// DeleteMember: ends a membership.
import type { CallContext } from '#client/call-context.js';
import type { DeleteMemberRequest, DeleteMemberResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { PeopleDeps } from '../deps.js';
import { checkedId } from '../fields.js';

/** Raises invalid_request, not_found, and failed_precondition when the account would be without an owner. */
export async function deleteMember(
  request: DeleteMemberRequest,
  _context: CallContext,
  { members, log }: PeopleDeps,
): Promise<DeleteMemberResponse> {
  const removed = await members.remove(accountIdBytes(request.accountId), checkedId('user_id', 'user', request.userId));
  found(removed ? true : undefined, 'member');
  log.info({ account_id: request.accountId, user_id: request.userId }, 'member removed');
  return {};
}
