// ListHolds: holds in every state, page by page.
import type { CallContext } from '#client/call-context.js';
import type { ListHoldsRequest, ListHoldsResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedCount, checkedExtent } from '../requests/fields.js';
import { toHoldMessage } from '../requests/messages.js';
import { holdPlace, holdToken } from '../requests/places.js';

/** Raises invalid_request. */
export async function listHolds(request: ListHoldsRequest, _context: CallContext, deps: RpcDeps): Promise<ListHoldsResponse> {
  const limit = checkedCount('page_size', request.pageSize, { min: 1, max: 1000, default: 500 });
  const { holds, next } = await deps.pages.holdsAfter(checkedExtent(request), holdPlace(request.pageToken), limit);
  return { holds: holds.map(toHoldMessage), nextPageToken: holdToken(next) };
}
