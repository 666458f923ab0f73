// ListUsers: lists users in order of creation, in pages: all of them, those that a search finds, or the one with an address.
import type { CallContext } from '#client/call-context.js';
import type { ListUsersRequest, ListUsersResponse } from '#proto/auth/v1/users.js';
import { parsePageRequest, readPage } from '../../requests/paging.js';
import type { UserDeps } from '../deps.js';
import { checkedEmail, checkedSearch } from '../fields.js';

/** Raises invalid_request. */
export async function listUsers(request: ListUsersRequest, _context: CallContext, { users }: UserDeps): Promise<ListUsersResponse> {
  if (request.email !== '') {
    const stored = await users.findByEmail(checkedEmail(request.email));
    return { users: stored === undefined ? [] : [stored.user], nextPageToken: '' };
  }
  const page = await readPage(parsePageRequest(request, 'user'), (after, limit) => users.list(checkedSearch(request.search), after, limit));
  return { users: page.items, nextPageToken: page.nextPageToken };
}
