// ListPriceVersions: all price versions of a model: past, in force and scheduled.
import type { CallContext } from '#client/call-context.js';
import type { ListPriceVersionsRequest, ListPriceVersionsResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { modelNamed } from '../models/model.js';

/** Returns the latest start first; the model may be named by an alias. Raises model_unknown. */
export async function listPriceVersions(
  request: ListPriceVersionsRequest,
  _context: CallContext,
  { store, clock }: RpcDeps,
): Promise<ListPriceVersionsResponse> {
  const { models } = await store.load(clock.nowMs());
  return { prices: await store.prices(modelNamed(models, request.modelId).id) };
}
