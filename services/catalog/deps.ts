// The dependencies of the catalog's RPCs.
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { CatalogFeed } from './feed/feed.js';
import type { CatalogStore } from './store/store.js';

/** Holds the dependencies that every RPC receives. */
export interface RpcDeps {
  readonly db: Database;
  readonly store: CatalogStore;
  readonly feed: CatalogFeed;
  readonly clock: Clock;
  readonly heartbeatIntervalMs: number;
}
