// Estimates what calls of a given size would cost, with the function that charges calls. Pure.
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { parseUsd } from '#rules/money/money.js';
import { chargeFor, countRequests, type TokenClass } from '#rules/money/pricing.js';
import type { CatalogModel, UnitPrices } from '../../formats/models-schema.js';

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
  /** How much of each unit that is not a token one call uses, by the name of the unit. A call is always one request. */
  readonly units: ReadonlyMap<string, number>;
}

/** The part of a size that each field of the calculator sets. */
export type SizeField = Exclude<keyof Size, 'units'>;

/** A line of the estimate. */
export interface EstimateLine {
  /** A class of tokens by its field, or the name of another unit. */
  readonly kind: string;
  readonly quantity: number;
  /** Per million tokens, or for one of another unit. */
  readonly usd: string;
  readonly nanoUsd: bigint;
}

const sizeMax = 1_000_000_000;

/** The initial values of the calculator. */
export const sizeDefault: Size = {
  input: 2000,
  cached: 0,
  written: 0,
  written1h: 0,
  output: 500,
  reasoning: 0,
  calls: 1000,
  units: new Map(),
};

/** Returns the name of the field for a unit that is not a token. */
export const unitField = (unit: string): string => `unit_${unit}`;

/** Parses the calculator's fields from an address; a value that is not a whole number up to a billion is replaced by the default. */
export function readSize(query: Readonly<Record<string, string | string[] | undefined>>, unitPrices: UnitPrices): Size {
  const numberOf = (name: string, otherwise: number): number => {
    const text = [query[name] ?? ''].flat()[0] ?? '';
    return /^\d{1,10}$/.test(text) ? Number(text) : otherwise;
  };
  const read = (name: SizeField): number => Math.min(numberOf(name, sizeDefault[name]), sizeMax);
  const output = read('output');
  return {
    input: read('input'),
    cached: read('cached'),
    written: read('written'),
    written1h: read('written1h'),
    output,
    reasoning: Math.min(read('reasoning'), output),
    calls: read('calls'),
    units: new Map(unitPrices.map(({ unit, max_per_call: max }) => [unit, Math.min(numberOf(unitField(unit), 0), max)])),
  };
}

/** The lines of the calculator, each with the line of a charge that it shows. */
const shownLines = [
  ['input', 'input'],
  ['cached', 'cache_read'],
  ['written', 'cache_write_5m'],
  ['written1h', 'cache_write_1h'],
  ['output', 'output'],
  ['reasoning', 'reasoning'],
] as const satisfies readonly (readonly [SizeField, TokenClass])[];

/** Returns the lines of one call, its sum, and the sum of all calls. Input and output are shown even if they are zero. */
export function estimate(
  prices: NonNullable<CatalogModel['usd_per_million_tokens']>,
  unitPrices: UnitPrices,
  size: Size,
): { lines: EstimateLine[]; call: bigint; all: bigint } {
  const counts = TokenCounts.fromPartial({
    inputTokens: size.input,
    cacheReadTokens: size.cached,
    cacheWrite5mTokens: size.written,
    cacheWrite1hTokens: size.written1h,
    outputTokens: size.output,
    reasoningTokens: size.reasoning,
    units: { counts: [...size.units].map(([unit, used]) => ({ unit, count: used })) },
  });
  const figures = {
    inputNanoUsdPerMtok: parseUsd(prices.input)!,
    cacheReadNanoUsdPerMtok: parseUsd(prices.cache_read)!,
    cacheWrite5mNanoUsdPerMtok: parseUsd(prices.cache_write_5m)!,
    cacheWrite1hNanoUsdPerMtok: parseUsd(prices.cache_write_1h)!,
    outputNanoUsdPerMtok: parseUsd(prices.output)!,
    reasoningNanoUsdPerMtok: prices.reasoning === undefined ? undefined : parseUsd(prices.reasoning),
    units: unitPrices.map(({ unit, usd, max_per_call }) => ({ unit, nanoUsd: parseUsd(usd)!, maxPerCall: max_per_call })),
  };
  const { lineItems, chargeNanoUsd } = chargeFor(countRequests(counts, figures, 1), figures);
  const itemOf = (unit: string) => lineItems.find((candidate) => candidate.unit === unit);
  const tokenLines = shownLines.flatMap(([kind, unit]): EstimateLine[] => {
    const item = itemOf(unit);
    if (item === undefined && kind !== 'input' && kind !== 'output') return [];
    return [{ kind, quantity: item?.quantity ?? 0, usd: prices[unit]!, nanoUsd: item?.amountNanoUsd ?? 0n }];
  });
  const unitLines = unitPrices.flatMap(({ unit, usd }): EstimateLine[] => {
    const item = itemOf(unit);
    return item === undefined ? [] : [{ kind: unit, quantity: item.quantity, usd, nanoUsd: item.amountNanoUsd }];
  });
  const lines = [...tokenLines, ...unitLines];
  return { lines, call: chargeNanoUsd, all: chargeNanoUsd * BigInt(size.calls) };
}
