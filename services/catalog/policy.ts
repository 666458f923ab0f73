// Which callers may call which RPC of the catalog.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { CatalogService } from '#proto/catalog/v1/catalog.js';

/** Reading is for the gateway, and prices for metering, which checks those of its records; what changes the catalog is for the operator alone, who may call everything. */
export const catalogPolicy: PeerPolicy<keyof CatalogService> = {
  listModels: ['gateway'],
  getModel: ['gateway'],
  listPriceVersions: ['gateway', 'metering'],
  watchCatalog: ['gateway'],
  putModel: [],
  publishPrice: [],
};
