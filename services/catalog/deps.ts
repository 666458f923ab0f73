// What the RPCs of the catalog work with.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { CatalogFeed } from './feed/feed.js';
import type { CatalogStore } from './store/store.js';

/** Handed to every RPC. */
export interface RpcDeps {
  readonly db: Database;
  readonly store: CatalogStore;
  readonly feed: CatalogFeed;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly heartbeatIntervalMs: number;
}
