// What calls of a given size would cost, by the same arithmetic as a charge: each line rounded up to a nano-dollar. Pure.
import { parseUsd } from '#kit/money.js';
import type { CatalogModel } from '../formats/models-schema.js';

/** How large a call is, and how many there are. */
export interface Size {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly calls: number;
}

/** A line of the sum. */
export interface EstimateLine {
  readonly label: string;
  readonly tokens: number;
  readonly usdPerMtok: string;
  readonly nanoUsd: bigint;
}

const mtok = 1_000_000n;
const sizeMax = 1_000_000_000;

/** What the calculator shows before anybody has filled it in. */
export const sizeDefault: Size = { input: 2000, cached: 0, output: 500, calls: 1000 };

/** Reads the calculator's fields from an address; what is no whole number up to a billion is taken for the default. */
export function readSize(query: Readonly<Record<string, string | string[] | undefined>>): Size {
  const read = (name: keyof Size): number => {
    const text = [query[name] ?? ''].flat()[0] ?? '';
    const value = /^\d{1,10}$/.test(text) ? Number(text) : sizeDefault[name];
    return Math.min(value, sizeMax);
  };
  return { input: read('input'), cached: read('cached'), output: read('output'), calls: read('calls') };
}

/** The lines of one call, its sum, and the sum of all calls. */
export function estimate(prices: NonNullable<CatalogModel['usd_per_million_tokens']>, size: Size): { lines: EstimateLine[]; call: bigint; all: bigint } {
  const line = (label: string, tokens: number, usdPerMtok: string): EstimateLine => {
    const nanoUsdPerMtok = parseUsd(usdPerMtok)!;
    return { label, tokens, usdPerMtok, nanoUsd: (BigInt(tokens) * nanoUsdPerMtok + mtok - 1n) / mtok };
  };
  const lines = [line('Input', size.input, prices.input), line('Read from cache', size.cached, prices.cache_read), line('Output', size.output, prices.output)];
  const call = lines.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0n);
  return { lines, call, all: call * BigInt(size.calls) };
}
