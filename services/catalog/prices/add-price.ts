// Adds a price version within a change: the only way to create prices, from a draft or without one.
import { fault, fieldFault } from '#client/errors/fault.js';
import { newId } from '#kit/id.js';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { isSamePrice, priceVersionsMax, startMsMax, startOf } from './price.js';
import { priceIdPrefix } from '../store/rows.js';
import type { CatalogChange } from '../store/store.js';

/**
 * Stores `wanted` permanently; its model must exist, and `startOf` determines when it starts. If a version that charges the same from the same
 * start is stored already, and the price comes from no draft, returns that one. `fieldPrefix` precedes the names of fields in errors. Raises invalid_request for a start in the
 * past, already_exists when another version starts at that millisecond, failed_precondition when the model has too many versions.
 */
export async function addPrice(
  change: CatalogChange,
  wanted: PriceVersion,
  nowMs: number,
  fieldPrefix: string,
  draftVersion?: bigint,
): Promise<PriceVersion> {
  const versions = await change.prices(wanted.modelId);
  const next = PriceVersion.fromPartial({
    ...wanted,
    id: newId(priceIdPrefix, nowMs),
    effectiveFromMs: startOf(wanted, versions, nowMs),
    createdAtMs: BigInt(nowMs),
  });
  const sameStart = versions.find(({ effectiveFromMs }) => effectiveFromMs === next.effectiveFromMs);
  // A version that another request added does not carry the draft's version, so that a repeat of the publication would not find it.
  if (sameStart !== undefined && draftVersion === undefined && isSamePrice(sameStart, next)) return sameStart;
  refuseBadStart(next.effectiveFromMs, nowMs, fieldPrefix);
  if (sameStart !== undefined) {
    throw fault('start_taken', { model: next.modelId }, { details: { field: `${fieldPrefix}effective_from_ms` } });
  }
  if (versions.length >= priceVersionsMax) {
    throw fault('prices_full', { model: next.modelId, max: priceVersionsMax });
  }
  await change.insertPrice(next, draftVersion);
  return next;
}

/** Raises invalid_request for a start in the past or in the wrong unit. */
export function refuseBadStart(effectiveFromMs: bigint, nowMs: number, fieldPrefix: string): void {
  const field = `${fieldPrefix}effective_from_ms`;
  if (effectiveFromMs < BigInt(nowMs)) {
    throw fieldFault(field, 'future_start');
  }
  if (effectiveFromMs > startMsMax) {
    throw fieldFault(field, 'before_year', { year: 2100 });
  }
}
