// ListAccounts: lists accounts in pages, all of them or those that a search finds.
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { AccountState, type ListAccountsRequest, type ListAccountsResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { checkedSearch, invalidField } from '../requests/fields.js';
import { parsePageRequest, readPage } from '../requests/paging.js';

/** Raises invalid_request. */
export async function listAccounts(
  request: ListAccountsRequest,
  _context: CallContext,
  { accounts, keys }: RpcDeps,
): Promise<ListAccountsResponse> {
  const which = { search: checkedSearch(request.search), state: checkedState(request.state), newestFirst: request.newestFirst };
  const page = await readPage(parsePageRequest(request, 'acct'), (after, limit) => accounts.list(which, after, limit));
  const counts = request.withKeyCounts ? await keys.countByAccount(page.items.map(({ id }) => idToBytes('acct', id)!)) : undefined;
  return {
    accounts: page.items,
    nextPageToken: page.nextPageToken,
    keyCounts: counts === undefined ? [] : page.items.map(({ id }) => counts.get(id) ?? 0),
  };
}

function checkedState(state: AccountState): AccountState | undefined {
  if (state === AccountState.ACCOUNT_STATE_UNSPECIFIED) return undefined;
  if (state === AccountState.ACCOUNT_STATE_ACTIVE || state === AccountState.ACCOUNT_STATE_SUSPENDED) return state;
  throw invalidField('state', 'state must be ACTIVE or SUSPENDED, or unspecified for both.');
}
