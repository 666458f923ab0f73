// Lists every model with the price in force now.
import type { CallContext } from '#kit/rpc/call-context.js';
import type { ListModelsRequest, ListModelsResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { modelsAt } from '../view.js';

/** Every model, retired ones included, in the order of their ids. */
export async function listModels(_request: ListModelsRequest, _context: CallContext, { store, clock }: RpcDeps): Promise<ListModelsResponse> {
  const nowMs = clock.nowMs();
  return { models: modelsAt(await store.load(nowMs), nowMs) };
}
