// ListAccounts: accounts in order of creation, by pages.
import type { CallContext } from '#kit/rpc/call-context.js';
import type { ListAccountsRequest, ListAccountsResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { parsePageRequest, readPage } from '../requests/paging.js';

/** Raises invalid_request. */
export async function listAccounts(request: ListAccountsRequest, _context: CallContext, deps: RpcDeps): Promise<ListAccountsResponse> {
  const page = await readPage(parsePageRequest(request, 'acct'), (after, limit) => deps.accounts.list(after, limit));
  return { accounts: page.items, nextPageToken: page.nextPageToken };
}
