// ListPriceVersions: the past, current and scheduled price versions of a model.
import type { CallContext } from '#client/call-context.js';
import type { ListPriceVersionsRequest, ListPriceVersionsResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { modelNamed } from '../models/model.js';

/** Returns the versions, latest start first. The model may be named by an alias. Raises model_unknown. */
export async function listPriceVersions(
  request: ListPriceVersionsRequest,
  _context: CallContext,
  { store }: RpcDeps,
): Promise<ListPriceVersionsResponse> {
  return { prices: await store.prices(modelNamed(await store.models(), request.modelId).id) };
}
