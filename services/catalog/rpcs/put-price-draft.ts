// PutPriceDraft: prepares a price of a model for review before it is published.
import { fault, fieldFault } from '#client/errors/fault.js';
import type { AppError } from '#client/errors/app-error.js';
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
 * model_unknown, failed_precondition when the present draft is neither the one to be replaced nor the same as the new one.
 */
export async function putPriceDraft(
  { price: wanted, author, replacesVersion }: PutPriceDraftRequest,
  context: CallContext,
  { store, clock }: RpcDeps,
): Promise<PutPriceDraftResponse> {
  if (wanted === undefined) throw fieldFault('price', 'required');
  refuseFaults('price', priceFaults(wanted));
  if (author.length > authorCharsMax) throw fieldFault('author', 'max_length', { max: authorCharsMax });
  return store.change(async (change) => {
    const model = modelNamed(await change.models(), wanted.modelId);
    const nowMs = clock.nowMs();
    const price = PriceVersion.fromPartial({ ...wanted, id: '', modelId: model.id, createdAtMs: 0n });
    const present = await change.draft(model.id);
    const isReplaced = replacesVersion !== undefined && replacesVersion !== (present?.version ?? 0n);
    // A repeat of a request whose response was lost finds its own draft.
    if (isReplaced && present !== undefined && present.author === author && isSamePrice(present.price!, price))
      return { draft: present, diff: priceDiff(model, price, await change.prices(model.id), nowMs) };
    if (wanted.effectiveFromMs !== 0n) refuseBadStart(wanted.effectiveFromMs, nowMs, 'price.');
    if (isReplaced) throw draftChanged(model.id, present);
    // The version is the revision of this change, which is never reused.
    const draft = PriceDraft.fromPartial({ price, version: change.revision, author, updatedAtMs: BigInt(nowMs) });
    await change.putDraft(draft);
    await change.audit(context, { action: 'price.draft', targetId: model.id, detail: { version: draft.version, ...priceDetail(price) } });
    return { draft, diff: priceDiff(model, price, await change.prices(model.id), nowMs) };
  });
}

function isSamePrice(one: PriceVersion, other: PriceVersion): boolean {
  return Buffer.from(PriceVersion.encode(one).finish()).equals(PriceVersion.encode(other).finish());
}

/** Returns the stale-draft conflict: the caller reviewed a different draft than the present one. */
export function draftChanged(modelId: string, present: PriceDraft | undefined): AppError {
  const details = { field: 'version' };
  if (present === undefined) return fault('draft_gone', { model: modelId }, { details });
  const { author } = present;
  if (author === '') return fault('draft_changed', { model: modelId }, { details });
  return fault('draft_changed_by', { model: modelId, author }, { details });
}
