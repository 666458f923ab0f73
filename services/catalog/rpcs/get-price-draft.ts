// GetPriceDraft: the draft of a model and what publishing it would change.
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { GetPriceDraftRequest, GetPriceDraftResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { modelNamed } from '../models/model.js';
import { priceDiff } from '../prices/price-diff.js';

/** Returns the draft and its comparison with the current prices. Raises model_unknown, and not_found when there is no draft. */
export async function getPriceDraft(
  { modelId }: GetPriceDraftRequest,
  _context: CallContext,
  { store, clock }: RpcDeps,
): Promise<GetPriceDraftResponse> {
  const model = modelNamed(await store.models(), modelId);
  const draft = await store.draft(model.id);
  if (draft === undefined) throw noDraft(model.id);
  return { draft, diff: priceDiff(model, draft.price!, await store.prices(model.id), clock.nowMs()) };
}

/** Returns the error for a model without a draft. */
export function noDraft(modelId: string): AppError {
  return fault('no_draft', { model: modelId });
}
