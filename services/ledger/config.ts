// The ledger's settings. Every default suits a single process as well as many.
import { addressOf } from '#kit/config/addresses.js';
import { publicUrl } from '#kit/config/public-url.js';
import { duration, integer, optionalText, type Settings, type Values } from '#kit/config/settings.js';
import { databaseUrl, migrationDatabaseUrl } from '#kit/db/part.js';
import { paymentSettings } from './payments/settings.js';

/** Settings of the ledger, keyed by the names that the code uses. */
export const ledgerSettings = {
  sweepIntervalMs: duration('TOLLGATE_LEDGER_SWEEP_INTERVAL', 'how often the ledger looks for expired holds', {
    minMs: 5,
    maxMs: 3_600_000,
    default: 1000,
  }),
  sweepBatchSize: integer('TOLLGATE_LEDGER_SWEEP_BATCH_SIZE', 'maximum number of expired holds that are released at a time', {
    min: 1,
    max: 1000,
    default: 200,
  }),
  clockSkewMs: duration(
    'TOLLGATE_LEDGER_CLOCK_SKEW',
    'maximum difference between the clocks of two ledger processes; a hold is released this long after its expiry',
    { minMs: 0, maxMs: 60_000, default: 500 },
  ),
  queueMax: integer(
    'TOLLGATE_LEDGER_QUEUE_MAX',
    'maximum number of operations that wait for a transaction; further ones are refused as overloaded',
    { min: 200, max: 1_000_000, default: 5000 },
  ),
  lanes: integer(
    'TOLLGATE_LEDGER_LANES',
    'number of transactions that run at the same time on MySQL, each on different accounts; SQLite always has one',
    { min: 1, max: 64, default: 2 },
  ),
  archiveDir: optionalText(
    'TOLLGATE_LEDGER_ARCHIVE_DIR',
    'folder that old journal entries are moved to; if unset, all entries stay in the database',
  ),
  retentionDays: integer('TOLLGATE_LEDGER_RETENTION_DAYS', 'number of days after which journal entries are moved to the archive', {
    min: 35,
    max: 36_500,
    default: 400,
  }),
  alertIntervalMs: duration(
    'TOLLGATE_LEDGER_ALERT_INTERVAL',
    'how often balances are checked for low-balance alerts, 500 accounts per check',
    { minMs: 20, maxMs: 3_600_000, default: 1000 },
  ),
  archiveIntervalMs: duration('TOLLGATE_LEDGER_ARCHIVE_INTERVAL', 'how often the ledger looks for old journal entries', {
    minMs: 1000,
    maxMs: 86_400_000,
    default: 3_600_000,
  }),
} satisfies Settings;

/** Settings of the ledger as a process of its own. */
export const ledgerProcessSettings = {
  ...ledgerSettings,
  ...paymentSettings,
  publicUrl,
  databaseUrl: databaseUrl('TOLLGATE_LEDGER_DATABASE_URL'),
  migrationDatabaseUrl: migrationDatabaseUrl('TOLLGATE_LEDGER_MIGRATION_DATABASE_URL'),
  authAddress: addressOf('auth'),
} satisfies Settings;

/** The parsed settings of the ledger. */
export type LedgerConfig = Values<typeof ledgerSettings>;
