// Where records wait for their transaction: concurrent RecordUsage calls share one.
import { BatchLane } from '#kit/scheduling/batch-lane.js';
import type { Clock } from '#kit/clock.js';
import { isDatabaseUnavailable } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { MeteringConfig } from '../config.js';
import type { Logger } from '#kit/log.js';
import type { LeaseGrace } from '../leases/lease-grace.js';
import { AnswerQuota } from '../keyed-calls/answer-quota.js';
import { insertRecords, type RecordEffects, type RecordInstants } from '../store/records/close-calls.js';
import { NotSettled, type SettleInTransaction, settleWith } from '../settlement/settle-with-record.js';
import type { PricedRecord } from './usage-record.js';

const recordsPerTransactionMax = 100;
const queueMax = 10_000;

/**
 * A lane that stores records durably; see `BatchLane`. A repeat raises the driver's duplicate error for that record only, and a call whose idempotency
 * key was taken over raises call_closed.
 */
export type RecordLane = BatchLane<PricedRecord, RecordEffects>;

/** Creates the lane of this replica. Stored records are claimed for its own outbox worker. */
export function createRecordLane(deps: {
  config: MeteringConfig;
  db: Database;
  clock: Clock;
  log: Logger;
  grace: LeaseGrace;
  settleInTransaction?: SettleInTransaction;
}): RecordLane {
  const { config, db, clock, log, grace, settleInTransaction } = deps;
  const quota = new AnswerQuota(deps);

  async function insert(records: readonly PricedRecord[]): Promise<readonly RecordEffects[]> {
    const instants = recordInstants(config, clock.nowMs());
    if (settleInTransaction === undefined) return insertRecords(db, records, instants, quota);
    try {
      return await insertRecords(db, records, instants, quota, settleWith(settleInTransaction));
    } catch (error) {
      if (!(error instanceof NotSettled)) throw error;
      log.warn({ err: error.cause, records: records.length }, 'the ledger could not settle calls with their records; the outbox retries');
      return insertRecords(db, records, instants, quota);
    }
  }

  return new BatchLane({
    name: 'usage records',
    apply: async (records) => {
      try {
        return await insert(records);
      } catch (error) {
        if (isDatabaseUnavailable(error)) grace.begin();
        throw error;
      }
    },
    turn: (waiting) => db.turn(waiting),
    isOfOneItem: (error) => !isDatabaseUnavailable(error),
    batchMax: recordsPerTransactionMax,
    queueMax,
  });
}

/** Returns the instants of a record that is stored now. */
export function recordInstants({ outboxClaimMs, keptAnswerTtlMs }: MeteringConfig, nowMs: number): RecordInstants {
  return { claimedUntilMs: nowMs + outboxClaimMs, nowMs, promisedSinceMs: nowMs - keptAnswerTtlMs };
}
