// PublishPriceDraft: makes a draft the model's price from its start.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { PublishPriceDraftRequest, PublishPriceDraftResponse } from '#proto/catalog/v1/catalog.js';
import { addPrice } from '../prices/add-price.js';
import { priceDetail } from '../audit-details.js';
import type { RpcDeps } from '../deps.js';
import { modelNamed } from '../models/model.js';
import { priceInForce, startOf } from '../prices/price.js';
import { draftChanged } from './put-price-draft.js';

/**
 * Adds the price version and removes the draft, both or neither. A repeat returns the version that was created the first time. Raises
 * model_unknown, failed_precondition when the draft or the previous price is not the reviewed one, and what adding a
 * version raises.
 */
export async function publishPriceDraft(
  request: PublishPriceDraftRequest,
  context: CallContext,
  { store, feed, clock }: RpcDeps,
): Promise<PublishPriceDraftResponse> {
  const { version, beforePriceId } = request;
  const price = await store.change(async (change) => {
    const model = modelNamed(await change.models(), request.modelId);
    const published = await change.priceOfDraft(model.id, version);
    if (published !== undefined) return published;
    const draft = await change.draft(model.id);
    if (draft?.version !== version) throw draftChanged(model.id, draft);
    const wanted = draft.price!;
    const nowMs = clock.nowMs();
    const versions = await change.prices(model.id);
    const before = priceInForce(versions, Number(startOf(wanted, versions, nowMs)))?.id ?? '';
    if (beforePriceId !== undefined && beforePriceId !== before) {
      throw fault('price_changed', { model: model.id }, { details: { field: 'before_price_id' } });
    }
    const added = await addPrice(change, wanted, nowMs, '', version);
    await change.removeDraft(model.id);
    const detail = { draft_version: version, before_price_id: before === '' ? null : before, price_id: added.id, ...priceDetail(added) };
    await change.audit(context, { action: 'price.publish', targetId: model.id, detail });
    return added;
  });
  feed.changed();
  return { price };
}
