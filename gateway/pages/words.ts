// How the public pages write numbers and the catalog's words. Pure.
import type { Texts } from './texts.js';

/** 200000 as "200,000". */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** A feature or input modality as people call it; by its own name where they have no other. */
export function featureName(word: string, { features }: Texts): string {
  return Object.hasOwn(features, word) ? features[word]! : word.replaceAll('_', ' ');
}

/** Amounts as people read them: all of it, with cents at least. */
export function usd(decimal: string): string {
  const [whole = '0', decimals = ''] = decimal.split('.');
  return `$${whole}.${decimals.padEnd(2, '0')}`;
}
