// ListMembers: lists the members of an account.
import type { CallContext } from '#client/call-context.js';
import type { ListMembersRequest, ListMembersResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes } from '../../requests/fields.js';
import type { UserDeps } from '../deps.js';

/** Raises invalid_request. */
export async function listMembers(request: ListMembersRequest, _context: CallContext, { members }: UserDeps): Promise<ListMembersResponse> {
  return { members: await members.ofAccount(accountIdBytes(request.accountId)) };
}
