// The settings of metering. The defaults suit a single machine as well as many.
import { duration, integer, optionalText, type Settings, type Values } from '#kit/config/settings.js';

/** Settings of metering, for the process and the composition to parse. */
export const meteringSettings = {
  leaseMs: duration('TOLLGATE_METERING_LEASE', 'a call in flight that is not checkpointed for this long is taken for lost', {
    minMs: 1000,
    maxMs: 3_600_000,
    default: 30_000,
  }),
  lostGraceMs: duration(
    'TOLLGATE_METERING_LOST_GRACE',
    'how long the charge of a lost call may still give way to the report of a gateway that comes back with its spool',
    {
      minMs: 0,
      maxMs: 86_400_000,
      default: 300_000,
    },
  ),
  sweepIntervalMs: duration('TOLLGATE_METERING_SWEEP_INTERVAL', 'how often lost calls are looked for', {
    minMs: 5,
    maxMs: 600_000,
    default: 1000,
  }),
  holdTtlMs: duration('TOLLGATE_METERING_HOLD_TTL', 'how long a checkpoint keeps the hold of a call alive at the ledger', {
    minMs: 1000,
    maxMs: 3_600_000,
    default: 120_000,
  }),
  checkpointTimeoutMs: duration('TOLLGATE_METERING_CHECKPOINT_TIMEOUT', 'how long the ledger may take over a batch of checkpoints', {
    minMs: 10,
    maxMs: 60_000,
    default: 2000,
  }),
  settleTimeoutMs: duration('TOLLGATE_METERING_SETTLE_TIMEOUT', 'how long the ledger may take over one settlement', {
    minMs: 10,
    maxMs: 60_000,
    default: 5000,
  }),
  settleConcurrency: integer('TOLLGATE_METERING_SETTLE_CONCURRENCY', 'settlements under way at the ledger at once', {
    min: 1,
    max: 4000,
    default: 256,
  }),
  settleBackoffMaxMs: duration('TOLLGATE_METERING_SETTLE_BACKOFF_MAX', 'the longest pause before a failed settlement is tried again', {
    minMs: 10,
    maxMs: 3_600_000,
    default: 30_000,
  }),
  outboxPollMs: duration('TOLLGATE_METERING_OUTBOX_POLL', 'how often the outbox is searched for settlements that are due', {
    minMs: 5,
    maxMs: 600_000,
    default: 500,
  }),
  outboxClaimMs: duration(
    'TOLLGATE_METERING_OUTBOX_CLAIM',
    'how long one replica keeps a settlement to itself before another may deliver it',
    {
      minMs: 10,
      maxMs: 600_000,
      default: 15_000,
    },
  ),
  keptAnswerTtlMs: duration(
    'TOLLGATE_METERING_KEPT_ANSWER_TTL',
    'how long the answer of a call with an Idempotency-Key is kept for repeats',
    {
      minMs: 1000,
      maxMs: 30 * 86_400_000,
      default: 86_400_000,
    },
  ),
  keptBytesPerAccountMax: integer(
    'TOLLGATE_METERING_KEPT_BYTES_PER_ACCOUNT_MAX',
    'kept answers of one account before its calls with new Idempotency-Keys are refused',
    {
      min: 1024,
      max: 1_099_511_627_776,
      default: 268_435_456,
    },
  ),
  keptBytesMax: integer(
    'TOLLGATE_METERING_KEPT_BYTES_MAX',
    'kept answers of all accounts before calls with new Idempotency-Keys are refused',
    {
      min: 1024,
      max: 1_125_899_906_842_624,
      default: 8_589_934_592,
    },
  ),
  drainTimeoutMs: duration('TOLLGATE_METERING_DRAIN_TIMEOUT', 'how long a stop waits for settlements that are under way', {
    minMs: 0,
    maxMs: 600_000,
    default: 5000,
  }),
  reconcileIntervalMs: duration('TOLLGATE_METERING_RECONCILE_INTERVAL', 'how often the calls of late are compared with the ledger', {
    minMs: 1000,
    maxMs: 3_600_000,
    default: 60_000,
  }),
  reconcileFullIntervalMs: duration('TOLLGATE_METERING_RECONCILE_FULL_INTERVAL', 'how often everything is compared, the journal included', {
    minMs: 1000,
    maxMs: 30 * 86_400_000,
    default: 86_400_000,
  }),
  reconcileSliceMs: duration(
    'TOLLGATE_METERING_RECONCILE_SLICE',
    'how long the comparison of everything goes on before calls of late have their turn',
    {
      minMs: 100,
      maxMs: 3_600_000,
      default: 30_000,
    },
  ),
  reconcileUnsettledAfterMs: duration(
    'TOLLGATE_METERING_RECONCILE_UNSETTLED_AFTER',
    'how long a charge may wait for the ledger before that counts as a drift',
    {
      minMs: 1000,
      maxMs: 86_400_000,
      default: 600_000,
    },
  ),
  reconcilePatienceMs: duration('TOLLGATE_METERING_RECONCILE_PATIENCE', 'how long after a first look what seems wrong is looked at again', {
    minMs: 0,
    maxMs: 60_000,
    default: 2000,
  }),
  foldIntervalMs: duration(
    'TOLLGATE_METERING_FOLD_INTERVAL',
    'how often new usage records are added to the sums that totals are read from',
    { minMs: 5, maxMs: 600_000, default: 5000 },
  ),
  archiveDir: optionalText('TOLLGATE_METERING_ARCHIVE_DIR', 'folder into which old usage records are moved; without it all are kept'),
  retentionDays: integer('TOLLGATE_METERING_RETENTION_DAYS', 'days after which usage records are moved into the archive', {
    min: 35,
    max: 36_500,
    default: 400,
  }),
  archiveIntervalMs: duration('TOLLGATE_METERING_ARCHIVE_INTERVAL', 'how often old usage records are looked for', {
    minMs: 1000,
    maxMs: 86_400_000,
    default: 3_600_000,
  }),
} satisfies Settings;

/** The parsed settings of metering. */
export type MeteringConfig = Values<typeof meteringSettings>;
