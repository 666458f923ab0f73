// EstimateCharges: what calls would be charged, for comparing prices. Nothing is stored.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type EstimateChargesRequest, type EstimateChargesResponse, UsageSource } from '#proto/metering/v1/metering.js';
import { chargeFor, pricesOutOfBounds, unitPriceNanoUsdMax } from '#rules/pricing.js';
import { validateUsage } from '../requests/validate-usage.js';

const pricesMax = 4000;
const sizesMax = 16;

/** Returns the charge of each size at each price, computed by the function that charges calls. Raises invalid_request for too many, or for prices out of bounds. */
export async function estimateCharges({ prices, tokens }: EstimateChargesRequest, _context: CallContext): Promise<EstimateChargesResponse> {
  if (prices.length > pricesMax) throw fieldFault('prices', 'max_items', { max: pricesMax });
  if (tokens.length > sizesMax) throw fieldFault('tokens', 'max_items', { max: sizesMax });
  for (const [index, price] of prices.entries()) {
    if (pricesOutOfBounds(price).length > 0)
      throw fieldFault(`prices[${index}]`, 'amount_range', { min_nano_usd: 0, max_nano_usd: unitPriceNanoUsdMax });
  }
  const sizes = tokens.map((counts) => validateUsage(counts, UsageSource.USAGE_SOURCE_ESTIMATED, 0).tokens);
  const estimate = (size: TokenCounts, price: PriceVersion) => {
    const { chargeNanoUsd, lineItems } = chargeFor(size, price);
    return { chargeNanoUsd, lineItems: [...lineItems] };
  };
  return { estimates: prices.flatMap((price) => sizes.map((size) => estimate(size, price))) };
}
