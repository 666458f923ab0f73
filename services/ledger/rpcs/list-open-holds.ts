// ListOpenHolds: what an account currently has set aside, page by page.
import type { CallContext } from '#client/call-context.js';
import type { ListOpenHoldsRequest, ListOpenHoldsResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedCount, checkedId } from '../requests/fields.js';
import { toHoldMessage } from '../requests/messages.js';
import { openHoldPlace, openHoldToken } from '../requests/places.js';

/** Raises invalid_request. */
export async function listOpenHolds(request: ListOpenHoldsRequest, _context: CallContext, deps: RpcDeps): Promise<ListOpenHoldsResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const limit = checkedCount('page_size', request.pageSize, { min: 1, max: 1000, default: 100 });
  // One more than requested shows whether there is another page.
  const found = await deps.reads.openHolds(accountId, openHoldPlace(request.pageToken), limit + 1);
  const holds = found.slice(0, limit);
  return { holds: holds.map(toHoldMessage), nextPageToken: found.length > limit ? openHoldToken(holds.at(-1)!) : '' };
}
