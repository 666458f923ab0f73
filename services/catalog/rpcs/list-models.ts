// ListModels: every model with the price in force, and the scheduled prices.
import type { CallContext } from '#client/call-context.js';
import type { ListModelsRequest, ListModelsResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { snapshotAt } from '../models/view.js';

/** Returns every model, retired ones included, in the order of their ids. */
export async function listModels(
  _request: ListModelsRequest,
  _context: CallContext,
  { store, clock }: RpcDeps,
): Promise<ListModelsResponse> {
  const nowMs = clock.nowMs();
  return snapshotAt(await store.load(nowMs), nowMs);
}
