// The catalog at an instant, as callers see it. Pure.
import { Model, WatchCatalogResponse_Snapshot } from '#proto/catalog/v1/catalog.js';
import { pauseAt } from '#rules/upstreams/model-pause.js';
import { priceInForce, scheduledPrices } from '../prices/price.js';
import type { StoredCatalog } from '../store/store.js';

/** Returns every model with the price in force at `nowMs`, in the order of their ids. */
export function modelsAt(catalog: StoredCatalog, nowMs: number): Model[] {
  const pricesByModel = Map.groupBy(catalog.prices, ({ modelId }) => modelId);
  const instantMs = notBefore(catalog, nowMs);
  return catalog.models.map(({ model }) => ({
    ...model,
    price: priceInForce(pricesByModel.get(model.id) ?? [], instantMs),
    pause: pauseAt(model, nowMs),
  }));
}

/** Returns what a watcher gets: the models and the scheduled prices. */
export function snapshotAt(catalog: StoredCatalog, nowMs: number): WatchCatalogResponse_Snapshot {
  return { models: modelsAt(catalog, nowMs), scheduledPrices: scheduledPrices(catalog.prices, notBefore(catalog, nowMs)) };
}

/** Returns an instant no earlier than the catalog's. Otherwise a clock set back after loading would make a model unpriced: prices that had ended by then were not loaded. */
function notBefore(catalog: StoredCatalog, nowMs: number): number {
  return Math.max(nowMs, catalog.asOfMs);
}
