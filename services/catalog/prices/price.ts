// Finds the price in force at an instant, and checks whether a price is valid. Pure: the instant is an argument.
import type { PriceVersion, UnitPrice } from '#proto/catalog/v1/catalog.js';
import {
  chargesTheSame,
  pricesOutOfBounds,
  requestUnit,
  type UnitFault,
  unitCostNanoUsdMax,
  unitFaults,
  unitPriceNanoUsdMax,
  unitsMax,
  unitsPerCallMax,
} from '#rules/money/pricing.js';
import { type Fault, faultOf } from '../fault.js';

/** Maximum number of versions per model: ListPriceVersions returns all of them. */
export const priceVersionsMax = 1000;

/** The year 2100: a start beyond it is a mistake in the unit, such as microseconds. */
export const startMsMax = 4_102_444_800_000n;

/** Returns the version with the latest start not after `nowMs`; undefined if the model is unpriced then. `prices` belong to one model, in any order. */
export function priceInForce(prices: readonly PriceVersion[], nowMs: number): PriceVersion | undefined {
  let inForce: PriceVersion | undefined;
  for (const price of prices) {
    if (price.effectiveFromMs > BigInt(nowMs)) continue;
    if (inForce === undefined || price.effectiveFromMs > inForce.effectiveFromMs) inForce = price;
  }
  return inForce;
}

/**
 * How far ahead a price starts if it is published for now and replaces another. A change reaches every gateway within a second, so that no
 * call after the start is charged the previous price.
 */
const publishLeadMs = 1000;

/** Returns when a version starts. Without a start of its own it starts now, or a moment ahead if it replaces a price in force. */
export function startOf(wanted: PriceVersion, versions: readonly PriceVersion[], nowMs: number): bigint {
  if (wanted.effectiveFromMs !== 0n) return wanted.effectiveFromMs;
  return BigInt(priceInForce(versions, nowMs) === undefined ? nowMs : nowMs + publishLeadMs);
}

/** Returns the versions that start after `nowMs`, earliest start first. */
export function scheduledPrices(prices: readonly PriceVersion[], nowMs: number): PriceVersion[] {
  return prices.filter((price) => price.effectiveFromMs > BigInt(nowMs)).sort((a, b) => Number(a.effectiveFromMs - b.effectiveFromMs));
}

/** Reports whether two versions charge the same from the same instant: then one is a repeat of the other. */
export function isSamePrice(a: PriceVersion, b: PriceVersion): boolean {
  return a.modelId === b.modelId && a.effectiveFromMs === b.effectiveFromMs && chargesTheSame(a, b);
}

/** Returns everything that is wrong with the figures; empty when the price is valid. The model and the start are not checked. */
export function priceFaults(price: PriceVersion): Fault[] {
  const bounds = { min_nano_usd: 0, max_nano_usd: unitPriceNanoUsdMax };
  const faults = pricesOutOfBounds(price).map((field) => faultOf(field, 'amount_range', bounds));
  if (price.units.length > unitsMax) faults.push(faultOf('units', 'max_items', { max: unitsMax }));
  return [...faults, ...unitFaults(price.units).map(({ index, fault }) => unitFault(price.units[index]!, `units[${index}]`, fault))];
}

function unitFault({ unit, maxPerCall }: UnitPrice, field: string, fault: UnitFault): Fault {
  switch (fault) {
    case 'name':
      return faultOf(`${field}.unit`, 'unit_name');
    case 'repeated':
      return faultOf(`${field}.unit`, 'distinct_units');
    case 'max_per_call':
      return faultOf(`${field}.max_per_call`, 'range', { min: 1, max: unit === requestUnit ? 1 : unitsPerCallMax });
    case 'amount':
      return faultOf(`${field}.nano_usd`, 'amount_range', { min_nano_usd: 0, max_nano_usd: unitCostNanoUsdMax / BigInt(maxPerCall) });
  }
}
