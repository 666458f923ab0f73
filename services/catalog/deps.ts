// What the RPCs of the catalog work with.
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { CatalogFeed } from './feed/feed.js';
import type { CatalogStore } from './store/store.js';

/** Handed to every RPC. */
export interface RpcDeps {
  readonly db: Database;
  readonly store: CatalogStore;
  readonly feed: CatalogFeed;
  readonly clock: Clock;
  readonly heartbeatIntervalMs: number;
}
