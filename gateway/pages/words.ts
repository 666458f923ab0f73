// Formats numbers and the catalog's terms for the public pages. Pure.
import type { Texts } from './texts.js';

/** 200000 as "200,000". */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** Returns the display name of a feature or input modality, or its own name if it has none. */
export function featureName(word: string, { features }: Texts): string {
  return Object.hasOwn(features, word) ? features[word]! : word.replaceAll('_', ' ');
}

/** Returns the display name of a unit other than tokens: translated for the units that Tollgate counts, else as the operator named it. */
export function unitName(unit: string, { units }: Texts): string {
  return Object.hasOwn(units, unit) ? units[unit]! : unit.replaceAll('_', ' ');
}

/** Formats an amount: exact, with at least two decimals, or `digits` so that the points of a column are aligned. */
export function usd(decimal: string, digits = 2): string {
  const [whole = '0', decimals = ''] = decimal.split('.');
  return `$${whole}.${decimals.padEnd(digits, '0')}`;
}

/** Returns how many decimals show every amount of a column exactly; at least two. */
export function digitsOf(amounts: readonly string[]): number {
  return Math.max(2, ...amounts.map((decimal) => (decimal.split('.')[1] ?? '').length));
}
