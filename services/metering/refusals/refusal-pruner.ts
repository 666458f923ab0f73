// The background job that deletes old refused calls.
import { type Clock, dayMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/scheduling/repeat.js';
import type { MeteringConfig } from '../config.js';
import { pruneExamples, pruneRefusals } from '../store/refusals/prune-refusals.js';

/** Longer than any gateway retries one batch. */
const batchIdsKeptMs = dayMs;

/** Starts to prune; returns a function that stops it. Several replicas may prune at the same time. */
export function startRefusalPruner(deps: { config: MeteringConfig; db: Database; clock: Clock; log: Logger }): () => Promise<void> {
  const { config, db, clock, log } = deps;
  const stopping = new AbortController();
  const stop = repeat(
    config.refusalPruneIntervalMs,
    async () => {
      const nowMs = clock.nowMs();
      const before = { refusalsMs: nowMs - config.refusalRetentionDays * dayMs, batchesMs: nowMs - batchIdsKeptMs };
      await pruneRefusals(db, before, stopping.signal);
      await pruneExamples(db, config.refusalsPerAccountMax, stopping.signal);
    },
    (error) => log.warn({ err: error }, 'old refused calls could not be deleted; this will be retried'),
  );
  return () => {
    stopping.abort();
    return stop();
  };
}
