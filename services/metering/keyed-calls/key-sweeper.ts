// Deletes expired idempotency keys and stored responses.
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import type { MeteringConfig } from '../config.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { deleteExpiredKeys } from '../store/keyed-calls/expired-keys.js';

/** Few, because they are deleted in one transaction, and responses may be large. */
const keysPerTransactionMax = 100;
/** A sweep leaves the rest to the next one, so that it never delays a stop for long. */
const transactionsPerSweepMax = 20;

/** Starts to sweep; returns a function that stops it. Several replicas may sweep at the same time. */
export function startKeySweeper(deps: { config: MeteringConfig; db: Database; clock: Clock; log: Logger }): () => Promise<void> {
  const { config, db, clock, log } = deps;
  return repeat(
    config.sweepIntervalMs,
    async () => {
      for (let left = transactionsPerSweepMax; left > 0; left -= 1)
        if ((await deleteExpiredKeys(db, clock.nowMs(), config.keptAnswerTtlMs, keysPerTransactionMax)) < keysPerTransactionMax) return;
    },
    (error) => log.error({ err: error }, 'expired idempotency keys could not be deleted; this will be retried'),
  );
}
