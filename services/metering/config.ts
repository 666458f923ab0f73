// The settings of metering. The defaults suit one process as well as several.
import { addressOf } from '#kit/config/addresses.js';
import { duration, integer, optionalText, text, type Settings, type Values } from '#kit/config/settings.js';
import { promptLogging } from '#kit/config/prompt-logging.js';
import { databaseUrl, migrationDatabaseUrl } from '#kit/db/part.js';
import { lostSecretKey } from '#kit/secrets/secret-keeper.js';

/** Settings of metering, for the process and the composition to parse. */
export const meteringSettings = {
  leaseMs: duration(
    'TOLLGATE_METERING_LEASE',
    'time without a checkpoint after which a call in flight counts as lost; longer than TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL, preferably several times as long',
    { minMs: 1000, maxMs: 3_600_000, default: 30_000 },
  ),
  lostGraceMs: duration(
    'TOLLGATE_METERING_LOST_GRACE',
    'how long the charge of a lost call can still be replaced by the report of a gateway that restarts with its spool; begins again when metering restarts, and when it or its database was unavailable',
    { minMs: 0, maxMs: 86_400_000, default: 300_000 },
  ),
  sweepIntervalMs: duration('TOLLGATE_METERING_SWEEP_INTERVAL', 'how often metering looks for lost calls', {
    minMs: 5,
    maxMs: 600_000,
    default: 1000,
  }),
  holdTtlMs: duration(
    'TOLLGATE_METERING_HOLD_TTL',
    'how long a checkpoint extends the hold of a call in the ledger; longer than TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL',
    { minMs: 1000, maxMs: 3_600_000, default: 120_000 },
  ),
  checkpointTimeoutMs: duration(
    'TOLLGATE_METERING_CHECKPOINT_TIMEOUT',
    'timeout of a batch of checkpoints, and of the check of a hold, at the ledger',
    {
      minMs: 10,
      maxMs: 60_000,
      default: 2000,
    },
  ),
  settleTimeoutMs: duration('TOLLGATE_METERING_SETTLE_TIMEOUT', 'timeout of a settlement at the ledger', {
    minMs: 10,
    maxMs: 60_000,
    default: 5000,
  }),
  settleConcurrency: integer('TOLLGATE_METERING_SETTLE_CONCURRENCY', 'maximum number of settlements in flight to the ledger', {
    min: 1,
    max: 4000,
    default: 256,
  }),
  settleBackoffMaxMs: duration('TOLLGATE_METERING_SETTLE_BACKOFF_MAX', 'longest delay before a failed settlement is retried', {
    minMs: 10,
    maxMs: 3_600_000,
    default: 30_000,
  }),
  outboxPollMs: duration(
    'TOLLGATE_METERING_OUTBOX_POLL',
    'how often metering looks for due settlements in the outbox; 1s by default in a single process, where they are delivered with the record',
    { minMs: 5, maxMs: 600_000, default: 500 },
  ),
  outboxClaimMs: duration(
    'TOLLGATE_METERING_OUTBOX_CLAIM',
    'how long a replica claims a settlement before another replica may deliver it',
    { minMs: 10, maxMs: 600_000, default: 15_000 },
  ),
  keptAnswerTtlMs: duration(
    'TOLLGATE_METERING_KEPT_ANSWER_TTL',
    'how long the answer of a call with an Idempotency-Key is kept for retries',
    { minMs: 1000, maxMs: 30 * 86_400_000, default: 86_400_000 },
  ),
  keptBytesPerAccountMax: integer(
    'TOLLGATE_METERING_KEPT_BYTES_PER_ACCOUNT_MAX',
    'total size of the kept answers of one account, in bytes, beyond which its calls with new Idempotency-Keys are refused',
    { min: 1024, max: 1_099_511_627_776, default: 268_435_456 },
  ),
  keptBytesMax: integer(
    'TOLLGATE_METERING_KEPT_BYTES_MAX',
    'total size of the kept answers of all accounts, in bytes, beyond which calls with new Idempotency-Keys are refused',
    { min: 1024, max: 1_125_899_906_842_624, default: 8_589_934_592 },
  ),
  drainTimeoutMs: duration('TOLLGATE_METERING_DRAIN_TIMEOUT', 'how long a shutdown waits for settlements in flight', {
    minMs: 0,
    maxMs: 600_000,
    default: 5000,
  }),
  reconcileIntervalMs: duration('TOLLGATE_METERING_RECONCILE_INTERVAL', 'how often recent calls are compared with the ledger', {
    minMs: 1000,
    maxMs: 3_600_000,
    default: 60_000,
  }),
  reconcileFullIntervalMs: duration(
    'TOLLGATE_METERING_RECONCILE_FULL_INTERVAL',
    'how often everything is compared, including the journal',
    { minMs: 1000, maxMs: 30 * 86_400_000, default: 86_400_000 },
  ),
  reconcileSliceMs: duration(
    'TOLLGATE_METERING_RECONCILE_SLICE',
    'how long the full comparison runs before it stores how far it has come',
    { minMs: 100, maxMs: 3_600_000, default: 30_000 },
  ),
  reconcileUnsettledAfterMs: duration(
    'TOLLGATE_METERING_RECONCILE_UNSETTLED_AFTER',
    'how long a charge may stay unsettled before it counts as a drift',
    { minMs: 1000, maxMs: 86_400_000, default: 600_000 },
  ),
  reconcilePatienceMs: duration('TOLLGATE_METERING_RECONCILE_PATIENCE', 'how long to wait before a possible drift is checked again', {
    minMs: 0,
    maxMs: 60_000,
    default: 2000,
  }),
  foldIntervalMs: duration(
    'TOLLGATE_METERING_FOLD_INTERVAL',
    'how often new usage records are rolled up into the sums that totals are read from',
    { minMs: 5, maxMs: 600_000, default: 5000 },
  ),
  archiveDir: optionalText(
    'TOLLGATE_METERING_ARCHIVE_DIR',
    'folder that old usage records are moved to; if unset, all records stay in the database',
  ),
  retentionDays: integer('TOLLGATE_METERING_RETENTION_DAYS', 'number of days after which usage records are moved to the archive', {
    min: 35,
    max: 36_500,
    default: 400,
  }),
  archiveIntervalMs: duration('TOLLGATE_METERING_ARCHIVE_INTERVAL', 'how often metering looks for old usage records', {
    minMs: 1000,
    maxMs: 86_400_000,
    default: 3_600_000,
  }),
  refusalRetentionDays: integer('TOLLGATE_METERING_REFUSAL_RETENTION_DAYS', 'number of days after which refused calls are deleted', {
    min: 1,
    max: 3650,
    default: 30,
  }),
  refusalsPerAccountMax: integer(
    'TOLLGATE_METERING_REFUSALS_PER_ACCOUNT_MAX',
    'refused calls of one account that are stored individually; beyond that, the oldest are deleted, and only their counts remain',
    { min: 100, max: 10_000_000, default: 10_000 },
  ),
  promptLogging,
  promptLogBytesPerAccountMax: integer(
    'TOLLGATE_METERING_PROMPT_LOG_BYTES_PER_ACCOUNT_MAX',
    'total size of the logged prompts and answers of one account, in bytes after compression; beyond that, the oldest are removed',
    { min: 1_048_576, max: 1_099_511_627_776, default: 1_073_741_824 },
  ),
  promptLogBytesMax: integer(
    'TOLLGATE_METERING_PROMPT_LOG_BYTES_MAX',
    'total size of the logged prompts and answers of all accounts, in bytes after compression; beyond that, no more are kept',
    { min: 1_048_576, max: 1_125_899_906_842_624, default: 10_737_418_240 },
  ),
  promptLogSweepIntervalMs: duration(
    'TOLLGATE_METERING_PROMPT_LOG_SWEEP_INTERVAL',
    'how often metering deletes logged prompts and answers that have expired, and those of projects that no longer log them',
    { minMs: 5, maxMs: 86_400_000, default: 60_000 },
  ),
  refusalPruneIntervalMs: duration('TOLLGATE_METERING_REFUSAL_PRUNE_INTERVAL', 'how often old refused calls are deleted', {
    minMs: 5,
    maxMs: 86_400_000,
    default: 600_000,
  }),
} satisfies Settings;

/** Settings of metering as a process of its own. */
export const meteringProcessSettings = {
  ...meteringSettings,
  databaseUrl: databaseUrl('TOLLGATE_METERING_DATABASE_URL'),
  migrationDatabaseUrl: migrationDatabaseUrl('TOLLGATE_METERING_MIGRATION_DATABASE_URL'),
  lostSecretKey,
  secretKeyPath: text(
    'TOLLGATE_METERING_SECRET_KEY_FILE',
    'file with the keys, one per line, the first of which encrypts logged prompts and answers; the same for every replica; created if it does not exist, unless the database has secrets',
    { default: './data/metering-secret-key' },
  ),
  authAddress: addressOf('auth'),
  catalogAddress: addressOf('catalog'),
  ledgerAddress: addressOf('ledger'),
} satisfies Settings;

/** The parsed settings of metering. */
export type MeteringConfig = Values<typeof meteringSettings>;
