// The public entry point of the catalog: everything that other modules may import to compose a process.
import { AuditOutbox, type AuditReceiver } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { whenReachable } from '#kit/db/when-reachable.js';
import type { Database } from '#kit/db/open.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { CatalogService } from '#proto/catalog/v1/catalog.js';
import type { CatalogConfig } from './config.js';
import { CatalogFeed } from './feed/feed.js';
import { migrations } from './migrations/index.js';
import { applySeed } from './seed/apply-seed.js';
import { parseSeed } from './seed/seed.js';
import seedFile from './seed/models.json' with { type: 'json' };
import { catalogService } from './service.js';
import { CatalogStore } from './store/store.js';

export { type CatalogConfig, catalogSettings } from './config.js';
export { migrations as catalogMigrations } from './migrations/index.js';

/** Holds what the catalog needs from its process. */
export interface CatalogDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** The auth service, which keeps the audit log. */
  readonly auth: AuditReceiver;
}

/** Creates the catalog over its own database. `start` migrates, adds the seed's missing models and starts to look for changes. */
export function createCatalog(config: CatalogConfig, { db, clock, log, auth }: CatalogDeps): ServiceModule<CatalogService> {
  const { pollIntervalMs, heartbeatIntervalMs } = config;
  const audit = new AuditOutbox({ db, receiver: auth, caller: 'catalog', clock, log });
  const store = new CatalogStore(db, audit);
  const feed = new CatalogFeed({ store, clock, log, pollIntervalMs, heartbeatIntervalMs });
  return {
    name: 'catalog',
    service: catalogService({ db, store, feed, clock, heartbeatIntervalMs }),
    async start() {
      await migrate(db, migrations, log);
      audit.start();
      if (config.seed) await whenReachable(log, () => applySeed(parseSeed(seedFile), { store, clock, log }));
      await whenReachable(log, () => feed.start());
    },
    async stop() {
      await feed.stop();
      await audit.stop();
    },
    async ready() {
      return feed.checked ? { ok: true } : { ok: false, why: 'the catalog cannot read its database' };
    },
  };
}
