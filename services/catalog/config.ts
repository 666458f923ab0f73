// The catalog's settings; every one has a default that suits a single process.
import { addressOf } from '#kit/config/addresses.js';
import { duration, flag, type Settings, type Values } from '#kit/config/settings.js';
import { databaseUrl, migrationDatabaseUrl } from '#kit/db/part.js';

/** Settings of the catalog, keyed by the names that the code uses. */
export const catalogSettings = {
  pollIntervalMs: duration(
    'TOLLGATE_CATALOG_POLL_INTERVAL',
    'how often to look for changes made by other replicas; 5s by default in a single process, which has none',
    { minMs: 10, maxMs: 60_000, default: 250 },
  ),
  heartbeatIntervalMs: duration(
    'TOLLGATE_CATALOG_HEARTBEAT_INTERVAL',
    'longest time without a message on WatchCatalog; 2s by default in a single process',
    { minMs: 20, maxMs: 60_000, default: 1000 },
  ),
  seed: flag('TOLLGATE_CATALOG_SEED', 'add missing models from the seed file at startup', { default: true }),
} satisfies Settings;

/** Settings of the catalog as a process of its own. */
export const catalogProcessSettings = {
  ...catalogSettings,
  databaseUrl: databaseUrl('TOLLGATE_CATALOG_DATABASE_URL'),
  migrationDatabaseUrl: migrationDatabaseUrl('TOLLGATE_CATALOG_MIGRATION_DATABASE_URL'),
  authAddress: addressOf('auth'),
} satisfies Settings;

/** The parsed settings of the catalog. */
export type CatalogConfig = Values<typeof catalogSettings>;
