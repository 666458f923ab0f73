// Which callers may call which RPC of the catalog.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { CatalogService } from '#proto/catalog/v1/catalog.js';

/**
 * The gateway reads, and changes the catalog for operators who are signed in to its console. Metering reads prices, which it checks those of its
 * records with. The operator may call everything, and alone publishes a price without a draft.
 */
export const catalogPolicy: PeerPolicy<keyof CatalogService> = {
  listModels: ['gateway'],
  getModel: ['gateway'],
  listPriceVersions: ['gateway', 'metering'],
  watchCatalog: ['gateway'],
  putModel: ['gateway'],
  publishPrice: [],
  putPriceDraft: ['gateway'],
  getPriceDraft: ['gateway'],
  listPriceDrafts: ['gateway'],
  discardPriceDraft: ['gateway'],
  publishPriceDraft: ['gateway'],
  getHealth: ['gateway'],
};
