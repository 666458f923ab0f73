// DeletePriceDraft: discards the draft of a model.
import type { CallContext } from '#client/call-context.js';
import type { DeletePriceDraftRequest, DeletePriceDraftResponse } from '#proto/catalog/v1/catalog.js';
import { priceDetail } from '../audit-details.js';
import type { RpcDeps } from '../deps.js';
import { modelNamed } from '../models/model.js';
import { noDraft } from './get-price-draft.js';
import { draftChanged } from './put-price-draft.js';

/** Deletes the draft. Raises model_unknown, not_found when there is no draft, failed_precondition when the request names another version. */
export async function deletePriceDraft(
  { modelId, version }: DeletePriceDraftRequest,
  context: CallContext,
  { store }: RpcDeps,
): Promise<DeletePriceDraftResponse> {
  await store.change(async (change) => {
    const model = modelNamed(await change.models(), modelId);
    const present = await change.draft(model.id);
    if (present === undefined) throw noDraft(model.id);
    if (version !== undefined && version !== present.version) throw draftChanged(model.id, present);
    await change.removeDraft(model.id);
    const detail = { version: present.version, ...priceDetail(present.price!) };
    await change.audit(context, { action: 'price.discard', targetId: model.id, detail });
  });
  return {};
}
