// What tokens cost. One table of line items yields the charge of a call, the most that it can cost, and the bounds of prices and counts,
// so that a hold is never less than the charge that it pays for. Pure arithmetic in bigint, exact to the nano-dollar.
import { TokenClass } from '#proto/inference/v1/tokens.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type LineItem } from '#proto/metering/v1/metering.js';

/** The prices of a version, in nano-USD per million tokens. */
export type UnitPrices = Omit<PriceVersion, 'id' | 'modelId' | 'effectiveFromMs' | 'createdAtMs'>;

/** One line of a charge: a class of tokens and its price. */
interface Line {
  /** The name in prices and messages: `<name>_nano_usd_per_mtok` is the field of a price. */
  readonly name: string;
  readonly kind: TokenClass;
  /** Whether a prompt or an answer is made of these tokens. A call bounds the sum of each side. */
  readonly side: 'input' | 'output';
  /** The count as the upstream reports it. */
  readonly count: keyof TokenCounts;
  /** Undefined: the class has no price of its own, and its tokens are charged with another line. */
  readonly price: (prices: UnitPrices) => bigint | undefined;
  /** The tokens that the line charges. */
  readonly tokens: (counts: TokenCounts, prices: UnitPrices) => number;
}

/** All lines, in the order of `TokenClass`. Lines of one side never charge the same token twice. */
export const lines: readonly Line[] = [
  {
    name: 'input',
    kind: TokenClass.TOKEN_CLASS_INPUT,
    side: 'input',
    count: 'inputTokens',
    price: (prices) => prices.inputNanoUsdPerMtok,
    tokens: (counts) => counts.inputTokens,
  },
  {
    name: 'cache_read',
    kind: TokenClass.TOKEN_CLASS_CACHE_READ,
    side: 'input',
    count: 'cacheReadTokens',
    price: (prices) => prices.cacheReadNanoUsdPerMtok,
    tokens: (counts) => counts.cacheReadTokens,
  },
  {
    name: 'cache_write_5m',
    kind: TokenClass.TOKEN_CLASS_CACHE_WRITE_5M,
    side: 'input',
    count: 'cacheWrite5mTokens',
    price: (prices) => prices.cacheWrite5mNanoUsdPerMtok,
    tokens: (counts) => counts.cacheWrite5mTokens,
  },
  {
    name: 'cache_write_1h',
    kind: TokenClass.TOKEN_CLASS_CACHE_WRITE_1H,
    side: 'input',
    count: 'cacheWrite1hTokens',
    price: (prices) => prices.cacheWrite1hNanoUsdPerMtok,
    tokens: (counts) => counts.cacheWrite1hTokens,
  },
  {
    name: 'output',
    kind: TokenClass.TOKEN_CLASS_OUTPUT,
    side: 'output',
    count: 'outputTokens',
    price: (prices) => prices.outputNanoUsdPerMtok,
    // Reasoning is a part of the output unless it has a price of its own.
    tokens: (counts, prices) =>
      prices.reasoningNanoUsdPerMtok === undefined ? counts.outputTokens : counts.outputTokens - counts.reasoningTokens,
  },
  {
    name: 'reasoning',
    kind: TokenClass.TOKEN_CLASS_REASONING,
    side: 'output',
    count: 'reasoningTokens',
    price: (prices) => prices.reasoningNanoUsdPerMtok,
    tokens: (counts, prices) => (prices.reasoningNanoUsdPerMtok === undefined ? 0 : counts.reasoningTokens),
  },
];

const tokensPerPriceUnit = 1_000_000n;

/** The highest token count of a class: what a record can hold. */
export const tokensMax = 4_294_967_295;

/**
 * The highest price, in nano-USD per million tokens: 100,000 USD. At this price six lines of `tokensMax` tokens still fit a signed
 * 64-bit integer.
 */
export const unitPriceNanoUsdMax = 100_000_000_000_000n;

/** The fields of a price that are out of bounds, as the contract names them. */
export function pricesOutOfBounds(prices: UnitPrices): string[] {
  const isOut = (nanoUsd: bigint): boolean => nanoUsd < 0n || nanoUsd > unitPriceNanoUsdMax;
  return lines.filter(({ price }) => isOut(price(prices) ?? 0n)).map(({ name }) => `${name}_nano_usd_per_mtok`);
}

/** A charge and its line items. */
export interface Charge {
  /** The sum of the line items. */
  readonly chargeNanoUsd: bigint;
  /** In the order of `TokenClass`; classes without tokens are left out. */
  readonly lineItems: readonly LineItem[];
}

/** Returns the charge for these tokens at these prices. Each line is rounded up once. The counts must keep the rules of `validateUsage`. */
export function chargeFor(counts: TokenCounts, prices: UnitPrices): Charge {
  const lineItems: LineItem[] = [];
  let chargeNanoUsd = 0n;
  for (const line of lines) {
    const tokens = line.tokens(counts, prices);
    if (tokens === 0) continue;
    const nanoUsdPerMtok = line.price(prices) ?? 0n;
    const amountNanoUsd = ceilDivide(BigInt(tokens) * nanoUsdPerMtok, tokensPerPriceUnit);
    lineItems.push({ tokenClass: line.kind, tokens, nanoUsdPerMtok, amountNanoUsd });
    chargeNanoUsd += amountNanoUsd;
  }
  return { chargeNanoUsd, lineItems };
}

/** The most that a call with a given input can cost, as a function of its output. */
export interface CostBound {
  /** The most that the input can cost, and the rounding of all lines. */
  readonly inputNanoUsd: bigint;
  /** The highest price of an output token, times the number of answers. */
  readonly outputNanoUsdPerMtok: bigint;
}

/**
 * Returns the bound of a call's cost: all input at the highest input price (the upstream decides what it caches) and all output at the
 * highest output price. The lines of a side are rounded up one by one: together they exceed the rounded bound of their sum by less than
 * one nano-dollar for each further line that has a price.
 */
export function costBound(prices: UnitPrices, inputTokensMax: number, answers: number): CostBound {
  const input = sideBound(prices, 'input');
  const output = sideBound(prices, 'output');
  const inputNanoUsd = inputTokensMax === 0 ? 0n : ceilDivide(BigInt(inputTokensMax) * input.highest, tokensPerPriceUnit) + input.rounding;
  return { inputNanoUsd: inputNanoUsd + output.rounding, outputNanoUsdPerMtok: output.highest * BigInt(answers) };
}

/** Returns the most that the call can cost with this many output tokens in each answer. */
export function costAtMost({ inputNanoUsd, outputNanoUsdPerMtok }: CostBound, outputTokens: number): bigint {
  return inputNanoUsd + ceilDivide(BigInt(outputTokens) * outputNanoUsdPerMtok, tokensPerPriceUnit);
}

/** Returns how many output tokens in each answer an amount pays for, at most `capTokens`. */
export function affordableTokens({ inputNanoUsd, outputNanoUsdPerMtok }: CostBound, amountNanoUsd: bigint, capTokens: number): number {
  if (amountNanoUsd < inputNanoUsd) return 0;
  if (outputNanoUsdPerMtok === 0n) return capTokens;
  const tokens = ((amountNanoUsd - inputNanoUsd) * tokensPerPriceUnit) / outputNanoUsdPerMtok;
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
