// The dependencies of auth's RPCs.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import type { ChangeFeed } from './change-feed.js';
import type { AccountStore } from './store/accounts.js';
import type { IdempotencyStore } from './store/idempotency.js';
import type { KeyStore } from './store/keys.js';
import type { ProjectStore } from './store/projects.js';

/** Holds the dependencies that every RPC receives. */
export interface RpcDeps {
  readonly db: Database;
  readonly accounts: AccountStore;
  readonly projects: ProjectStore;
  readonly keys: KeyStore;
  readonly idempotency: IdempotencyStore;
  readonly audit: AuditLog;
  readonly feed: ChangeFeed;
  /** Maximum time without a message on a watch stream; each message names it. */
  readonly heartbeatIntervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}
