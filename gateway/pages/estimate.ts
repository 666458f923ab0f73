// What calls of a given size would cost, by the same arithmetic as a charge: each line rounded up to a nano-dollar. Pure.
import { parseUsd } from '#rules/money.js';
import type { CatalogModel } from '../formats/models-schema.js';

/** How large a call is, and how many there are. */
export interface Size {
  readonly input: number;
  readonly cached: number;
  /** Written to a cache of five minutes. */
  readonly written: number;
  /** Written to a cache of one hour. */
  readonly written1h: number;
  /** All output, reasoning included. */
  readonly output: number;
  /** The part of output spent on reasoning. */
  readonly reasoning: number;
  readonly calls: number;
}

/** A line of the sum. */
export interface EstimateLine {
  readonly kind: Exclude<keyof Size, 'calls'>;
  readonly tokens: number;
  readonly usdPerMtok: string;
  readonly nanoUsd: bigint;
}

const mtok = 1_000_000n;
const sizeMax = 1_000_000_000;

/** What the calculator shows before anybody has filled it in. */
export const sizeDefault: Size = { input: 2000, cached: 0, written: 0, written1h: 0, output: 500, reasoning: 0, calls: 1000 };

/** Reads the calculator's fields from an address; what is no whole number up to a billion is taken for the default. */
export function readSize(query: Readonly<Record<string, string | string[] | undefined>>): Size {
  const read = (name: keyof Size): number => {
    const text = [query[name] ?? ''].flat()[0] ?? '';
    const value = /^\d{1,10}$/.test(text) ? Number(text) : sizeDefault[name];
    return Math.min(value, sizeMax);
  };
  const output = read('output');
  return {
    input: read('input'),
    cached: read('cached'),
    written: read('written'),
    written1h: read('written1h'),
    output,
    reasoning: Math.min(read('reasoning'), output),
    calls: read('calls'),
  };
}

/** The lines of one call, its sum, and the sum of all calls. */
export function estimate(
  prices: NonNullable<CatalogModel['usd_per_million_tokens']>,
  size: Size,
): { lines: EstimateLine[]; call: bigint; all: bigint } {
  const line = (kind: EstimateLine['kind'], tokens: number, usdPerMtok: string): EstimateLine => {
    const nanoUsdPerMtok = parseUsd(usdPerMtok)!;
    return { kind, tokens, usdPerMtok, nanoUsd: (BigInt(tokens) * nanoUsdPerMtok + mtok - 1n) / mtok };
  };
  // As a charge has them: reasoning is a line of its own only where it has a price of its own, and output is then what remains.
  const reasoning = prices.reasoning === undefined ? 0 : size.reasoning;
  const lines = [
    line('input', size.input, prices.input),
    line('cached', size.cached, prices.cache_read),
    line('written', size.written, prices.cache_write_5m),
    line('written1h', size.written1h, prices.cache_write_1h),
    line('output', size.output - reasoning, prices.output),
    ...(prices.reasoning === undefined ? [] : [line('reasoning', reasoning, prices.reasoning)]),
  ].filter(({ kind, tokens }) => tokens > 0 || kind === 'input' || kind === 'output');
  const call = lines.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0n);
  return { lines, call, all: call * BigInt(size.calls) };
}
