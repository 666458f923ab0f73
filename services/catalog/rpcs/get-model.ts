// GetModel: one model by its id or one of its aliases.
import type { CallContext } from '#client/call-context.js';
import type { GetModelRequest, GetModelResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { findByName, unknownModel } from '../models/model.js';
import { modelsAt } from '../models/view.js';

/** Returns the model, under its own id even when it was requested by an alias. Raises model_unknown. */
export async function getModel(request: GetModelRequest, _context: CallContext, { store, clock }: RpcDeps): Promise<GetModelResponse> {
  const nowMs = clock.nowMs();
  const model = findByName(modelsAt(await store.load(nowMs), nowMs), request.modelId);
  if (model === undefined) throw unknownModel(request.modelId);
  return { model };
}
