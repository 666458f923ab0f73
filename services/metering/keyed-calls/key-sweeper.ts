// Deletes expired idempotency keys and the responses stored under them.
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import type { MeteringConfig } from '../config.js';
import { repeat } from '#kit/repeat.js';
import { deleteExpiredKeys } from '../store/expired-keys.js';

/** Few, because they are deleted in one transaction, and responses may be large. */
const keysPerSweepMax = 100;

/** Starts to sweep; returns a function that stops it. Several replicas may sweep at the same time. */
export function startKeySweeper(deps: { config: MeteringConfig; db: Database; clock: Clock; log: Logger }): () => Promise<void> {
  const { config, db, clock, log } = deps;
  return repeat(
    config.sweepIntervalMs,
    () => deleteExpiredKeys(db, clock.nowMs(), config.keptAnswerTtlMs, keysPerSweepMax),
    (error) => log.error({ err: error }, 'expired idempotency keys could not be deleted; this will be retried'),
  );
}
