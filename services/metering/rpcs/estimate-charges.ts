// EstimateCharges: estimates the charges of calls, for comparing prices. Nothing is stored.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type EstimateChargesRequest, type EstimateChargesResponse, UsageSource } from '#proto/metering/v1/metering.js';
import { chargeFor, pricesOutOfBounds, unitFaults, unitPriceNanoUsdMax, unitsMax } from '#rules/money/pricing.js';
import { requireTokens } from '../requests/validate-call.js';
import { validateUsage } from '../requests/validate-usage.js';

const pricesMax = 4000;
const sizesMax = 16;

/**
 * Returns the charge of each size at each price, computed by the function that charges calls. Raises invalid_request for too many prices or sizes, and for
 * prices out of bounds.
 */
export async function estimateCharges({ prices, tokens }: EstimateChargesRequest, _context: CallContext): Promise<EstimateChargesResponse> {
  if (prices.length > pricesMax) throw fieldFault('prices', 'max_items', { max: pricesMax });
  if (tokens.length > sizesMax) throw fieldFault('tokens', 'max_items', { max: sizesMax });
  for (const [index, price] of prices.entries()) {
    if (pricesOutOfBounds(price).length > 0)
      throw fieldFault(`prices[${index}]`, 'amount_range', { min_nano_usd: 0, max_nano_usd: unitPriceNanoUsdMax });
    if (price.units.length > unitsMax) throw fieldFault(`prices[${index}].units`, 'max_items', { max: unitsMax });
    const [fault] = unitFaults(price.units);
    if (fault !== undefined) throw fieldFault(`prices[${index}].units[${fault.index}]`, 'unit_price');
  }
  const estimate = (size: TokenCounts, price: PriceVersion) => {
    // Units that the price does not have are left out, and a call never counts more of one than its price allows.
    const bounds = { outputCapTokens: 0, price, unitCaps: size.units };
    const counts = validateUsage(requireTokens(size), UsageSource.USAGE_SOURCE_ESTIMATED, bounds).tokens;
    const { chargeNanoUsd, lineItems } = chargeFor(counts, price);
    return { chargeNanoUsd, lineItems: [...lineItems] };
  };
  return { estimates: prices.flatMap((price) => tokens.map((size) => estimate(size, price))) };
}
