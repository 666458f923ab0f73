// Adds a price version to a model.
import { AppError } from '#kit/errors/app-error.js';
import { newId } from '#kit/id.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import { PriceVersion, type PublishPriceRequest, type PublishPriceResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { refuseFaults } from '../fault.js';
import { findByName, unknownModel } from '../model.js';
import { isSamePrice, priceFaults, priceVersionsMax } from '../price.js';
import { priceIdPrefix } from '../rows.js';

/**
 * Stores the version for good. A repeat of a version with a start of its own answers with the stored one. Raises invalid_request
 * for a price out of bounds or a start in the past, model_unknown, already_exists when another version starts at that
 * millisecond, failed_precondition when the model has too many versions.
 */
export async function publishPrice(request: PublishPriceRequest, _context: CallContext, { store, feed, clock }: RpcDeps): Promise<PublishPriceResponse> {
  const wanted = request.price;
  if (wanted === undefined) throw new AppError('invalid_request', 'price is missing.', { details: { field: 'price' } });
  refuseFaults('price', priceFaults(wanted));
  const price = await store.change(async (change) => {
    const model = findByName((await change.models()).map((existing) => existing.model), wanted.modelId);
    if (model === undefined) throw unknownModel(wanted.modelId);
    // Read within the change: waiting for its turn must not let a start slip into the past.
    const nowMs = clock.nowMs();
    const next = PriceVersion.fromPartial({
      ...wanted,
      id: newId(priceIdPrefix, nowMs),
      modelId: model.id,
      effectiveFromMs: wanted.effectiveFromMs === 0n ? BigInt(nowMs) : wanted.effectiveFromMs,
      createdAtMs: BigInt(nowMs),
    });
    const versions = await change.prices(model.id);
    const sameStart = versions.find(({ effectiveFromMs }) => effectiveFromMs === next.effectiveFromMs);
    if (sameStart !== undefined && isSamePrice(sameStart, next)) return sameStart;
    refuseBadStart(next, nowMs, sameStart);
    if (versions.length >= priceVersionsMax) {
      throw new AppError('failed_precondition', `"${model.id}" already has ${priceVersionsMax} price versions, and that is the most it can have.`);
    }
    await change.insertPrice(next);
    return next;
  });
  feed.changed();
  return { price };
}

function refuseBadStart(price: PriceVersion, nowMs: number, sameStart: PriceVersion | undefined): void {
  const details = { field: 'price.effective_from_ms' };
  if (price.effectiveFromMs < BigInt(nowMs)) {
    throw new AppError('invalid_request', 'price.effective_from_ms is in the past; send a later instant, or 0 for now.', { details });
  }
  if (price.effectiveFromMs > startMsMax) {
    throw new AppError('invalid_request', `price.effective_from_ms must be at most ${startMsMax}, epoch milliseconds.`, { details });
  }
  if (sameStart !== undefined) {
    throw new AppError('already_exists', `Another price of "${price.modelId}" starts at that very millisecond; choose another start.`, { details });
  }
}

/** The year 2100: a start beyond it is a mistake in the unit, such as microseconds. */
const startMsMax = 4_102_444_800_000n;
