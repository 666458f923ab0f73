// Estimates what calls of a given size would cost, with the function that charges calls. Pure.
import { TokenClass, TokenCounts } from '#proto/inference/v1/tokens.js';
import { parseUsd } from '#rules/money.js';
import { chargeFor } from '#rules/pricing.js';
import type { CatalogModel } from '../formats/models-schema.js';

/** How large a call is, and how many there are. */
export interface Size {
  readonly input: number;
  readonly cached: number;
  /** Written to a five-minute cache. */
  readonly written: number;
  /** Written to a one-hour cache. */
  readonly written1h: number;
  /** All output, including reasoning. */
  readonly output: number;
  /** The part of output spent on reasoning. */
  readonly reasoning: number;
  readonly calls: number;
}

/** A line of the estimate. */
export interface EstimateLine {
  readonly kind: Exclude<keyof Size, 'calls'>;
  readonly tokens: number;
  readonly usdPerMtok: string;
  readonly nanoUsd: bigint;
}

const sizeMax = 1_000_000_000;

/** The initial values of the calculator. */
export const sizeDefault: Size = { input: 2000, cached: 0, written: 0, written1h: 0, output: 500, reasoning: 0, calls: 1000 };

/** Parses the calculator's fields from an address; a value that is not a whole number up to a billion is replaced by the default. */
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

/** The lines of the calculator, each with the line of a charge that it shows. */
const shownLines = [
  ['input', TokenClass.TOKEN_CLASS_INPUT, 'input'],
  ['cached', TokenClass.TOKEN_CLASS_CACHE_READ, 'cache_read'],
  ['written', TokenClass.TOKEN_CLASS_CACHE_WRITE_5M, 'cache_write_5m'],
  ['written1h', TokenClass.TOKEN_CLASS_CACHE_WRITE_1H, 'cache_write_1h'],
  ['output', TokenClass.TOKEN_CLASS_OUTPUT, 'output'],
  ['reasoning', TokenClass.TOKEN_CLASS_REASONING, 'reasoning'],
] as const;

/** Returns the lines of one call, its sum, and the sum of all calls. Input and output are shown even if they are zero. */
export function estimate(
  prices: NonNullable<CatalogModel['usd_per_million_tokens']>,
  size: Size,
): { lines: EstimateLine[]; call: bigint; all: bigint } {
  const counts = TokenCounts.fromPartial({
    inputTokens: size.input,
    cacheReadTokens: size.cached,
    cacheWrite5mTokens: size.written,
    cacheWrite1hTokens: size.written1h,
    outputTokens: size.output,
    reasoningTokens: size.reasoning,
  });
  const { lineItems, chargeNanoUsd } = chargeFor(counts, {
    inputNanoUsdPerMtok: parseUsd(prices.input)!,
    cacheReadNanoUsdPerMtok: parseUsd(prices.cache_read)!,
    cacheWrite5mNanoUsdPerMtok: parseUsd(prices.cache_write_5m)!,
    cacheWrite1hNanoUsdPerMtok: parseUsd(prices.cache_write_1h)!,
    outputNanoUsdPerMtok: parseUsd(prices.output)!,
    reasoningNanoUsdPerMtok: prices.reasoning === undefined ? undefined : parseUsd(prices.reasoning),
  });
  const lines = shownLines.flatMap(([kind, lineKind, price]): EstimateLine[] => {
    const item = lineItems.find((candidate) => candidate.tokenClass === lineKind);
    if (item === undefined && kind !== 'input' && kind !== 'output') return [];
    return [{ kind, tokens: item?.tokens ?? 0, usdPerMtok: prices[price]!, nanoUsd: item?.amountNanoUsd ?? 0n }];
  });
  return { lines, call: chargeNanoUsd, all: chargeNanoUsd * BigInt(size.calls) };
}
