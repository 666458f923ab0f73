// ListPriceDrafts: the drafts of all models.
import type { CallContext } from '#client/call-context.js';
import type { ListPriceDraftsRequest, ListPriceDraftsResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';

/** Returns the drafts in the order of their models' ids. */
export async function listPriceDrafts(
  _request: ListPriceDraftsRequest,
  _context: CallContext,
  { store }: RpcDeps,
): Promise<ListPriceDraftsResponse> {
  return { drafts: await store.drafts() };
}
