// The units of a record that are not tokens, with their prices, caps and counts, as the text of one column. Pure.
import type { UnitPrice } from '#proto/catalog/v1/catalog.js';
import type { UnitCounts } from '#proto/inference/v1/tokens.js';
import { countOf } from '#rules/money/pricing.js';

/** The price is text, because a JSON number cannot hold it. */
type StoredUnit = [unit: string, nanoUsd: string, maxPerCall: number, cap: number, count: number];

/** The contents of the text. */
export interface RecordedUnits {
  readonly prices: UnitPrice[];
  /** Undefined where nothing is counted or allowed. */
  readonly caps: UnitCounts | undefined;
  readonly counts: UnitCounts | undefined;
}

/** The units of a record whose price has none. */
export const noUnits: RecordedUnits = { prices: [], caps: undefined, counts: undefined };

/** Returns the text; null for a price without other units, which costs a record nothing. */
export function unitText(prices: readonly UnitPrice[], caps: UnitCounts | undefined, counts: UnitCounts | undefined): string | null {
  if (prices.length === 0) return null;
  const stored = prices.map(({ unit, nanoUsd, maxPerCall }): StoredUnit => {
    return [unit, String(nanoUsd), maxPerCall, countOf({ units: caps }, unit), countOf({ units: counts }, unit)];
  });
  return JSON.stringify(stored);
}

/** Parses the text. */
export function unitsOfText(text: string): RecordedUnits {
  const stored = JSON.parse(text) as StoredUnit[];
  return {
    prices: stored.map(([unit, nanoUsd, maxPerCall]) => ({ unit, nanoUsd: BigInt(nanoUsd), maxPerCall })),
    caps: countsOf(stored.map(([unit, , , cap]) => ({ unit, count: cap }))),
    counts: countsOf(stored.map(([unit, , , , count]) => ({ unit, count }))),
  };
}

function countsOf(all: UnitCounts['counts']): UnitCounts | undefined {
  const counts = all.filter(({ count }) => count > 0);
  return counts.length === 0 ? undefined : { counts };
}
