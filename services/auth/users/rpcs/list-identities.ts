// ListIdentities: lists the identities with which a user can sign in.
import type { CallContext } from '#client/call-context.js';
import type { ListIdentitiesRequest, ListIdentitiesResponse } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';
import { checkedId } from '../../requests/fields.js';

/** Raises invalid_request. */
export async function listIdentities(
  request: ListIdentitiesRequest,
  _context: CallContext,
  { identities }: UserDeps,
): Promise<ListIdentitiesResponse> {
  return { identities: await identities.list(checkedId('user_id', 'user', request.userId)) };
}
