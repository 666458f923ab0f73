// The migrations of the catalog, in order.
import { modelsAndPrices } from './0001-models-and-prices.js';
import { imageTokens } from './0002-image-tokens.js';
import { priceDrafts } from './0003-price-drafts.js';

/** All of them. */
export const migrations = [modelsAndPrices, imageTokens, priceDrafts];
