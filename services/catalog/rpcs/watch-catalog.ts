// WatchCatalog: streams the catalog to a client that keeps a copy of it.
import type { CallContext } from '#client/call-context.js';
import type { WatchCatalogRequest, WatchCatalogResponse } from '#proto/catalog/v1/catalog.js';
import type { RpcDeps } from '../deps.js';
import { snapshotAt } from '../models/view.js';

/** Yields a snapshot immediately and after every change, price starts included, and heartbeats in between. Raises overloaded. */
export async function* watchCatalog(
  _request: WatchCatalogRequest,
  context: CallContext,
  { feed, clock, heartbeatIntervalMs }: RpcDeps,
): AsyncGenerator<WatchCatalogResponse, void, undefined> {
  for await (const catalog of feed.watch(context.signal)) {
    yield { snapshot: catalog === undefined ? undefined : snapshotAt(catalog, clock.nowMs()), heartbeatIntervalMs };
  }
}
