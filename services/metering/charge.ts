// What a call costs: token counts times the price version fixed at admission. Pure arithmetic in bigint, exact to the nano-dollar.
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type LineItem, LineKind } from '#proto/metering/v1/metering.js';

const tokensPerPriceUnit = 1_000_000n;

/**
 * The dearest price that is accepted, as the contract of PriceVersion says, in nano-USD per million tokens: 100,000 USD. With it
 * even six line items of 2^32 tokens stay within a signed 64-bit integer.
 */
export const nanoUsdPerMtokMax = 100_000_000_000_000n;

/** A charge and what it is made of. */
export interface Charge {
  /** The sum of the line items. */
  readonly chargeNanoUsd: bigint;
  /** In the order of `LineKind`; classes without tokens are left out. */
  readonly lineItems: readonly LineItem[];
}

/**
 * The charge for these tokens at this price. Each line is rounded up once, so that a charge is never less than tokens × price.
 * Reasoning is a line of its own only when the price has a price for it; then the output line is what remains of the output.
 * The counts must already keep the rules of `validateUsage`.
 */
export function chargeFor(tokens: TokenCounts, price: PriceVersion): Charge {
  const reasoningPrice = price.reasoningNanoUsdPerMtok;
  const reasoningTokens = reasoningPrice === undefined ? 0 : tokens.reasoningTokens;
  const lineItems = [
    lineItem(LineKind.LINE_KIND_INPUT, tokens.inputTokens, price.inputNanoUsdPerMtok),
    lineItem(LineKind.LINE_KIND_CACHE_READ, tokens.cacheReadTokens, price.cacheReadNanoUsdPerMtok),
    lineItem(LineKind.LINE_KIND_CACHE_WRITE_5M, tokens.cacheWrite5mTokens, price.cacheWrite5mNanoUsdPerMtok),
    lineItem(LineKind.LINE_KIND_CACHE_WRITE_1H, tokens.cacheWrite1hTokens, price.cacheWrite1hNanoUsdPerMtok),
    lineItem(LineKind.LINE_KIND_OUTPUT, tokens.outputTokens - reasoningTokens, price.outputNanoUsdPerMtok),
    lineItem(LineKind.LINE_KIND_REASONING, reasoningTokens, reasoningPrice ?? 0n),
  ].filter((item) => item.tokens > 0);
  return { lineItems, chargeNanoUsd: lineItems.reduce((sum, item) => sum + item.amountNanoUsd, 0n) };
}

function lineItem(kind: LineKind, tokens: number, nanoUsdPerMtok: bigint): LineItem {
  const amountNanoUsd = (BigInt(tokens) * nanoUsdPerMtok + tokensPerPriceUnit - 1n) / tokensPerPriceUnit;
  return { kind, tokens, nanoUsdPerMtok, amountNanoUsd };
}
