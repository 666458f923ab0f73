// PublishPrice: adds a price version to a model.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { PublishPriceRequest, PublishPriceResponse } from '#proto/catalog/v1/catalog.js';
import { addPrice } from '../prices/add-price.js';
import { priceDetail } from '../audit-details.js';
import type { RpcDeps } from '../deps.js';
import { refuseFaults } from '../fault.js';
import { modelNamed } from '../models/model.js';
import { priceFaults } from '../prices/price.js';

/**
 * Stores the version permanently. A repeat of a request with a start returns the stored version. Raises invalid_request
 * for a price out of bounds or a start in the past, model_unknown, already_exists when another version starts at that
 * millisecond, failed_precondition when the model has too many versions.
 */
export async function publishPrice(
  request: PublishPriceRequest,
  context: CallContext,
  { store, feed, clock }: RpcDeps,
): Promise<PublishPriceResponse> {
  const wanted = request.price;
  if (wanted === undefined) throw fieldFault('price', 'required');
  refuseFaults('price', priceFaults(wanted));
  const price = await store.change(async (change) => {
    const model = modelNamed(await change.models(), wanted.modelId);
    // The clock is read within the change, so that a start which passes while the change waits for its turn is refused.
    const published = await addPrice(change, { ...wanted, modelId: model.id }, clock.nowMs(), 'price.');
    // A repeat writes nothing and has no audit event.
    if (change.written)
      await change.audit(context, {
        action: 'price.publish',
        targetId: model.id,
        detail: { price_id: published.id, ...priceDetail(published) },
      });
    return published;
  });
  feed.changed();
  return { price };
}
