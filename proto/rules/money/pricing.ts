// What a call costs. One table of line items yields the charge of a call, the most that it can cost, and the bounds of prices and counts,
// so that a hold is never less than the charge that it pays for. Pure arithmetic in bigint, exact to the nano-dollar.
import type { PriceVersion, UnitPrice } from '#proto/catalog/v1/catalog.js';
import type { TokenCounts, UnitCount } from '#proto/inference/v1/tokens.js';
import { type LineItem } from '#proto/metering/v1/metering.js';

/** The prices of a version: of tokens in nano-USD per million, of other units in nano-USD each. */
export type UnitPrices = Omit<PriceVersion, 'id' | 'modelId' | 'effectiveFromMs' | 'createdAtMs'>;

/** The classes of tokens that can have a price of their own, in the order of their lines. */
export const tokenClasses = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'reasoning'] as const;

/** One of them. */
export type TokenClass = (typeof tokenClasses)[number];

/** One line of a charge: a class of tokens and its price. */
interface Line {
  /** The name in prices and messages: `<name>_nano_usd_per_mtok` is the field of a price. */
  readonly name: TokenClass;
  /** Whether these tokens are in the prompt or in the answer. A call bounds the sum of each side. */
  readonly side: 'input' | 'output';
  /** The count as the upstream reports it. */
  readonly count: Exclude<keyof TokenCounts, 'units'>;
  /** Undefined: the class has no price of its own, and its tokens are charged with another line. */
  readonly price: (prices: UnitPrices) => bigint | undefined;
  /** The tokens that the line charges. */
  readonly tokens: (counts: TokenCounts, prices: UnitPrices) => number;
}

/** The lines of tokens, in the order of `tokenClasses`. Lines of one side never charge the same token twice. */
export const lines: readonly Line[] = [
  {
    name: 'input',
    side: 'input',
    count: 'inputTokens',
    price: (prices) => prices.inputNanoUsdPerMtok,
    tokens: (counts) => counts.inputTokens,
  },
  {
    name: 'cache_read',
    side: 'input',
    count: 'cacheReadTokens',
    price: (prices) => prices.cacheReadNanoUsdPerMtok,
    tokens: (counts) => counts.cacheReadTokens,
  },
  {
    name: 'cache_write_5m',
    side: 'input',
    count: 'cacheWrite5mTokens',
    price: (prices) => prices.cacheWrite5mNanoUsdPerMtok,
    tokens: (counts) => counts.cacheWrite5mTokens,
  },
  {
    name: 'cache_write_1h',
    side: 'input',
    count: 'cacheWrite1hTokens',
    price: (prices) => prices.cacheWrite1hNanoUsdPerMtok,
    tokens: (counts) => counts.cacheWrite1hTokens,
  },
  {
    name: 'output',
    side: 'output',
    count: 'outputTokens',
    price: (prices) => prices.outputNanoUsdPerMtok,
    // Reasoning is a part of the output unless it has a price of its own.
    tokens: (counts, prices) =>
      prices.reasoningNanoUsdPerMtok === undefined ? counts.outputTokens : counts.outputTokens - counts.reasoningTokens,
  },
  {
    name: 'reasoning',
    side: 'output',
    count: 'reasoningTokens',
    price: (prices) => prices.reasoningNanoUsdPerMtok,
    tokens: (counts, prices) => (prices.reasoningNanoUsdPerMtok === undefined ? 0 : counts.reasoningTokens),
  },
];

const tokensPerPrice = 1_000_000;
const tokensPerPriceUnit = BigInt(tokensPerPrice);

/** The highest count of a class of tokens or another unit: what a record can hold. */
export const tokensMax = 4_294_967_295;

/**
 * The highest price, in nano-USD per million tokens: 100,000 USD. At this price six lines of `tokensMax` tokens, and `unitsMax` lines of
 * `unitCostNanoUsdMax`, still fit a signed 64-bit integer.
 */
export const unitPriceNanoUsdMax = 100_000_000_000_000n;

/** How many other units a price can have. */
export const unitsMax = 16;
/** The most of another unit that a price can allow in one call. */
export const unitsPerCallMax = 1_000_000_000;
/** The most that one call may cost in one other unit: 100 million USD. */
export const unitCostNanoUsdMax = 100_000_000_000_000_000n;

/** The unit of which metering counts one for each call that is charged. */
export const requestUnit = 'request';
/** The unit that a vendor's web search counts. */
export const webSearchUnit = 'web_search';

const unitForm = /^[a-z][a-z0-9_]{0,31}$/;

/** Returns whether another unit can have this name: it is well-formed, and no class of tokens has it. */
export function isUnitName(name: string): boolean {
  return unitForm.test(name) && !(tokenClasses as readonly string[]).includes(name);
}

/** The fields of a price that are out of bounds, as the contract names them. */
export function pricesOutOfBounds(prices: UnitPrices): string[] {
  const isOut = (nanoUsd: bigint): boolean => nanoUsd < 0n || nanoUsd > unitPriceNanoUsdMax;
  return lines.filter(({ price }) => isOut(price(prices) ?? 0n)).map(({ name }) => `${name}_nano_usd_per_mtok`);
}

/** The rule that the price of another unit breaks. */
export type UnitFault = 'name' | 'repeated' | 'max_per_call' | 'amount';

/** Returns the prices of other units that cannot be charged, each with its place and the first rule that it breaks. */
export function unitFaults(units: readonly UnitPrice[]): { index: number; fault: UnitFault }[] {
  return units.flatMap(({ unit, nanoUsd, maxPerCall }, index) => {
    const perCallMax = unit === requestUnit ? 1 : unitsPerCallMax;
    const fault: UnitFault | undefined = !isUnitName(unit)
      ? 'name'
      : units.findIndex((other) => other.unit === unit) !== index
        ? 'repeated'
        : !(Number.isInteger(maxPerCall) && maxPerCall >= 1 && maxPerCall <= perCallMax)
          ? 'max_per_call'
          : nanoUsd < 0n || nanoUsd * BigInt(maxPerCall) > unitCostNanoUsdMax
            ? 'amount'
            : undefined;
    return fault === undefined ? [] : [{ index, fault }];
  });
}

/** One price of a version, of tokens or of another unit. */
export interface ListedPrice {
  /** A class of tokens, or the name of another unit. */
  readonly unit: string;
  /** For `per` of it. Undefined: reasoning is charged as output. */
  readonly nanoUsd: bigint | undefined;
  readonly per: number;
  /** Of another unit. */
  readonly maxPerCall?: number;
}

/** Returns all prices of a version: every class of tokens, then the other units. */
export function priceList(prices: UnitPrices): ListedPrice[] {
  return [
    ...lines.map(({ name, price }): ListedPrice => ({ unit: name, nanoUsd: price(prices), per: tokensPerPrice })),
    ...prices.units.map(({ unit, nanoUsd, maxPerCall }): ListedPrice => ({ unit, nanoUsd, per: 1, maxPerCall })),
  ];
}

/** Returns whether two versions charge the same, whatever the order of their units. */
export function chargesTheSame(one: UnitPrices, other: UnitPrices): boolean {
  const others = new Map(priceList(other).map((price) => [price.unit, price]));
  return (
    one.units.length === other.units.length &&
    priceList(one).every(({ unit, nanoUsd, maxPerCall }) => {
      const same = others.get(unit);
      return same !== undefined && same.nanoUsd === nanoUsd && same.maxPerCall === maxPerCall;
    })
  );
}

/** Returns the count of a unit that is not a token. */
export function countOf({ units }: Pick<TokenCounts, 'units'>, unit: string): number {
  return units?.counts.find((each) => each.unit === unit)?.count ?? 0;
}

/** Returns the counts with this many requests where the price has that unit, the same counts where it has not. */
export function countRequests(counts: TokenCounts, { units }: Pick<UnitPrices, 'units'>, requests: 0 | 1): TokenCounts {
  if (!units.some(({ unit }) => unit === requestUnit) || countOf(counts, requestUnit) === requests) return counts;
  const others = counts.units?.counts.filter(({ unit }) => unit !== requestUnit) ?? [];
  const all = requests === 0 ? others : [{ unit: requestUnit, count: requests }, ...others];
  return { ...counts, units: all.length === 0 ? undefined : { counts: all } };
}

/** A charge and its line items. */
export interface Charge {
  /** The sum of the line items. */
  readonly chargeNanoUsd: bigint;
  /** The classes of tokens, then the other units in the order of the price; those with a quantity of 0 are left out. */
  readonly lineItems: readonly LineItem[];
}

/** Returns the charge for these quantities at these prices. Each line is rounded up once. The counts must keep the rules of `validateUsage`. */
export function chargeFor(counts: TokenCounts, prices: UnitPrices): Charge {
  const lineItems: LineItem[] = [];
  let chargeNanoUsd = 0n;
  for (const line of lines) {
    const tokens = line.tokens(counts, prices);
    if (tokens === 0) continue;
    const nanoUsdPerMtok = line.price(prices) ?? 0n;
    const amountNanoUsd = ceilDivide(BigInt(tokens) * nanoUsdPerMtok, tokensPerPriceUnit);
    lineItems.push({ unit: line.name, quantity: tokens, nanoUsd: nanoUsdPerMtok, amountNanoUsd, per: tokensPerPrice });
    chargeNanoUsd += amountNanoUsd;
  }
  for (const { unit, nanoUsd } of prices.units) {
    const quantity = countOf(counts, unit);
    if (quantity === 0) continue;
    const amountNanoUsd = BigInt(quantity) * nanoUsd;
    lineItems.push({ unit, quantity, nanoUsd, amountNanoUsd, per: 1 });
    chargeNanoUsd += amountNanoUsd;
  }
  return { chargeNanoUsd, lineItems };
}

/** The most that a call with a given input can cost, as a function of its output. */
export interface CostBound {
  /** The most that the input and the other units can cost, and the rounding of all lines. */
  readonly fixedNanoUsd: bigint;
  /** The highest price of an output token, times the number of answers. */
  readonly outputNanoUsdPerMtok: bigint;
}

/**
 * Returns the bound of a call's cost: all input at the highest input price (the upstream decides what it caches), all output at the
 * highest output price, one request, and other units up to these caps. The lines of a side are rounded up one by one: together they exceed the rounded bound of their sum by less than
 * one nano-dollar for each further line that has a price.
 */
export function costBound(prices: UnitPrices, inputTokensMax: number, answers: number, unitCaps: readonly UnitCount[] = []): CostBound {
  const input = sideBound(prices, 'input');
  const output = sideBound(prices, 'output');
  const inputNanoUsd = inputTokensMax === 0 ? 0n : ceilDivide(BigInt(inputTokensMax) * input.highest, tokensPerPriceUnit) + input.rounding;
  const unitsNanoUsd = prices.units.reduce((sum, { unit, nanoUsd }) => sum + nanoUsd * BigInt(capOf(unit, unitCaps)), 0n);
  return { fixedNanoUsd: inputNanoUsd + output.rounding + unitsNanoUsd, outputNanoUsdPerMtok: output.highest * BigInt(answers) };
}

/** Returns the most of another unit that a hold with these caps pays for. */
export function capOf(unit: string, unitCaps: readonly UnitCount[] = []): number {
  return unit === requestUnit ? 1 : (unitCaps.find((cap) => cap.unit === unit)?.count ?? 0);
}

/** Returns the most that the call can cost with this many output tokens in each answer. */
export function costAtMost({ fixedNanoUsd, outputNanoUsdPerMtok }: CostBound, outputTokens: number): bigint {
  return fixedNanoUsd + ceilDivide(BigInt(outputTokens) * outputNanoUsdPerMtok, tokensPerPriceUnit);
}

/** Returns how many output tokens in each answer an amount pays for, at most `capTokens`. */
export function affordableTokens({ fixedNanoUsd, outputNanoUsdPerMtok }: CostBound, amountNanoUsd: bigint, capTokens: number): number {
  if (amountNanoUsd < fixedNanoUsd) return 0;
  if (outputNanoUsdPerMtok === 0n) return capTokens;
  const tokens = ((amountNanoUsd - fixedNanoUsd) * tokensPerPriceUnit) / outputNanoUsdPerMtok;
  return tokens >= BigInt(capTokens) ? capTokens : Number(tokens);
}

/** The highest price of a side, and how much the rounding of its lines can add: nothing for lines that are free. */
function sideBound(prices: UnitPrices, side: Line['side']): { highest: bigint; rounding: bigint } {
  let highest = 0n;
  let priced = 0;
  for (const line of lines) {
    if (line.side !== side) continue;
    const price = line.price(prices) ?? 0n;
    if (price > 0n) priced += 1;
    if (price > highest) highest = price;
  }
  return { highest, rounding: BigInt(Math.max(0, priced - 1)) };
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
