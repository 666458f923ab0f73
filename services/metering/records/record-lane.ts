// Where records wait for their transaction: concurrent RecordUsage calls share one.
import { BatchLane } from '#kit/batch-lane.js';
import type { Clock } from '#kit/clock.js';
import { isDatabaseAway } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { MeteringConfig } from '../config.js';
import { insertRecords, type RecordInstants } from '../store/close-calls.js';
import type { PricedRecord } from './usage-record.js';

const recordsPerTransactionMax = 100;
const queueMax = 10_000;

/** A lane that stores records durably; see `BatchLane`. A repeat raises the driver's duplicate error for that record only, and a
 * call whose idempotency key was taken over raises call_closed. */
export type RecordLane = BatchLane<PricedRecord>;

/** Creates the lane of this replica. Stored records are claimed for its own outbox worker. */
export function createRecordLane(deps: { config: MeteringConfig; db: Database; clock: Clock }): RecordLane {
  const { config, db, clock } = deps;
  return new BatchLane({
    apply: async (records) => {
      await insertRecords(db, records, recordInstants(config, clock.nowMs()));
      return records.map(() => undefined);
    },
    isOfOneItem: (error) => !isDatabaseAway(error),
    batchMax: recordsPerTransactionMax,
    queueMax,
  });
}

/** Returns the instants of a record that is stored now. */
export function recordInstants({ outboxClaimMs, keptAnswerTtlMs }: MeteringConfig, nowMs: number): RecordInstants {
  return { claimedUntilMs: nowMs + outboxClaimMs, keptUntilMs: nowMs + keptAnswerTtlMs, promisedSinceMs: nowMs - keptAnswerTtlMs };
}
