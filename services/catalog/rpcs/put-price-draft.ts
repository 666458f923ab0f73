// PutPriceDraft: prepares a price of a model for review before it is published.
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import { PriceDraft, PriceVersion, type PutPriceDraftRequest, type PutPriceDraftResponse } from '#proto/catalog/v1/catalog.js';
import { refuseBadStart } from '../prices/add-price.js';
import { priceDetail } from '../audit-details.js';
import type { RpcDeps } from '../deps.js';
import { refuseFaults } from '../fault.js';
import { modelNamed } from '../models/model.js';
import { priceDiff } from '../prices/price-diff.js';
import { priceFaults } from '../prices/price.js';

const authorCharsMax = 200;

/**
 * Stores the draft, replacing the present one. Raises invalid_request for a price out of bounds or a start in the past,
 * model_unknown, failed_precondition when the present draft is not the one to be replaced.
 */
export async function putPriceDraft(
  { price: wanted, author, replacesVersion }: PutPriceDraftRequest,
  context: CallContext,
  { store, clock }: RpcDeps,
): Promise<PutPriceDraftResponse> {
  if (wanted === undefined) throw new AppError('invalid_request', 'price is missing.', { details: { field: 'price' } });
  refuseFaults('price', priceFaults(wanted));
  if (author.length > authorCharsMax)
    throw new AppError('invalid_request', `author must have at most ${authorCharsMax} characters.`, { details: { field: 'author' } });
  return store.change(async (change) => {
    const model = modelNamed(await change.models(), wanted.modelId);
    const nowMs = clock.nowMs();
    if (wanted.effectiveFromMs !== 0n) refuseBadStart(wanted.effectiveFromMs, nowMs, 'price.');
    const present = await change.draft(model.id);
    if (replacesVersion !== undefined && replacesVersion !== (present?.version ?? 0n)) throw draftChanged(model.id, present);
    const price = PriceVersion.fromPartial({ ...wanted, id: '', modelId: model.id, createdAtMs: 0n });
    // The revision grows with every change and is never reused, and so is the version.
    const draft = PriceDraft.fromPartial({ price, version: change.revision, author, updatedAtMs: BigInt(nowMs) });
    await change.putDraft(draft);
    await change.audit(context, { action: 'price.draft', targetId: model.id, detail: { version: draft.version, ...priceDetail(price) } });
    return { draft, diff: priceDiff(model, price, await change.prices(model.id), nowMs) };
  });
}

/** Returns the stale-draft conflict: the caller reviewed a different draft than the present one. */
export function draftChanged(modelId: string, present: PriceDraft | undefined): AppError {
  const what =
    present === undefined
      ? 'is gone: it was published or discarded'
      : `was changed${present.author === '' ? '' : ` by ${present.author}`} since you looked at it`;
  return new AppError('failed_precondition', `The price draft of "${modelId}" ${what}. Look at it again.`, {
    details: { field: 'version' },
  });
}
