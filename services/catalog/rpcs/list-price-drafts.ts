// ListPriceDrafts: the drafts of all models.
import type { CallContext } from '#client/call-context.js';
import type { ListPriceDraftsRequest, ListPriceDraftsResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';

/** Returns them in the order of the models' ids. */
export async function listPriceDrafts(
  _request: ListPriceDraftsRequest,
  _context: CallContext,
  { store }: RpcDeps,
): Promise<ListPriceDraftsResponse> {
  return { drafts: await store.drafts() };
}
