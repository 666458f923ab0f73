// Closes calls. The record, the end of its call in flight and its settlement to deliver are one transaction. Every transaction touches idempotency_key
// first, then open_call, usage_record, usage_unfolded, outbox and the stored responses, so that deadlocks are rare: only the totals of stored responses
// are locked in the order of the records. A transaction that ends in a deadlock is retried. All code that stores a record calls `lockKeysOf` first and
// ends with `closeKey`: without them one idempotency key could be charged twice.
import { AppError } from '#client/errors/app-error.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { Outcome, type ResponseStorage, type Settlement } from '#proto/metering/v1/metering.js';
import type { AnswerQuota } from '../../keyed-calls/answer-quota.js';
import type { PricedRecord } from '../../records/usage-record.js';
import { markPending } from '../sums/rollup-steps.js';
import type { OpenCall } from './open-calls.js';
import { closeKey, lockKeysOf } from '../keyed-calls/keyed-calls.js';
import { deferSettlement, enqueueSettlements, replaceDeferred } from '../settlement/outbox.js';
import { bytesOf, recordColumns, recordTable, recordValues, settledValues } from './record-rows.js';
import { expectPromptLogs } from '../prompt-logs.js';
import { recordedIds } from './records.js';
import { storeResponses } from '../keyed-calls/stored-parts.js';

const keyed = keyedText(['id']);
const deleteOpenCalls = textOfRows((rows) => `DELETE FROM open_call WHERE ${keyed(rows)}`);
const replaceLost = `UPDATE usage_record SET ${recordColumns.map((column) => `${column} = ?`).join(', ')} WHERE id = ? AND account_id = ? AND outcome = ?`;
// Such a record did not leave its key free for a repeat (`closeKey`).
const wasUsed = 'free = 0 AND (charge_nano_usd > 0 OR output_tokens > 0)';

/** Holds the deadlines for what a record leaves behind. */
export interface RecordInstants {
  /** Its settlement is claimed by this replica until then. */
  readonly claimedUntilMs: number;
  /** Its response is kept from then on. */
  readonly nowMs: number;
  /** Of calls that started since then, at most one may be charged under a key. */
  readonly promisedSinceMs: number;
}

/** The result of storing a record. */
export interface RecordEffects {
  /** Absent if the outbox must deliver it. */
  readonly settlement: Settlement | undefined;
  /** Absent if the call has no response to store. */
  readonly storage: ResponseStorage | undefined;
}

/** The settlements of new records, made in the transaction that stores them. */
interface SettledRecords {
  /** In the order of the records; undefined for a settlement that the outbox must deliver. */
  readonly settlements: readonly (Settlement | undefined)[];
  /** Called after the commit. */
  committed(): void;
}

/** Settles records within the transaction that stores them. */
export type SettleRecords = (tx: PlainTransaction, records: readonly PricedRecord[]) => Promise<SettledRecords>;

const settleLater: SettleRecords = async (_tx, records) => ({ settlements: records.map(() => undefined), committed: () => undefined });

/**
 * Stores the records of ended calls, all or none, with their responses. Settlements that `settle` does not make are queued. Raises the driver's
 * duplicate error when one of the calls is already on record, and otherwise call_closed when another call has the idempotency key of one.
 */
export async function insertRecords(
  db: Database,
  records: readonly PricedRecord[],
  instants: RecordInstants,
  quota: AnswerQuota,
  settle: SettleRecords = settleLater,
): Promise<readonly RecordEffects[]> {
  const { settlements, committed, storages } = await db.plainTransaction(async (tx) => {
    const closed = await lockKeysOf(
      tx,
      records.map(({ record }) => record.call),
      instants.promisedSinceMs,
    );
    if (closed.size > 0) {
      const ids = [...closed].map((id) => bytesOf('req', id));
      // For a call that is on record already, the insert raises the duplicate error.
      if ((await recordedIds(tx, ids)).size < closed.size)
        throw new AppError('call_closed', 'The idempotency key of the call was taken over by a repeat, so it cannot be recorded.');
    }
    const checkpointed = records.filter(({ neverCheckpointed }) => !neverCheckpointed);
    if (checkpointed.length > 0) {
      await tx.run(
        deleteOpenCalls(checkpointed.length),
        checkpointed.map(({ record }) => bytesOf('req', record.call.id)),
      );
    }
    const settled = await settle(tx, records);
    await tx.insert(
      recordTable,
      records.map((record, index) => [...recordValues(record), ...settledValues(settled.settlements[index])]),
    );
    await markPending(tx, records.map(namesOf));
    const unsettled = records.filter((_, index) => settled.settlements[index] === undefined);
    if (unsettled.length > 0) await enqueueSettlements(tx, unsettled, instants.claimedUntilMs);
    for (const record of records) await closeKey(tx, record, instants.nowMs);
    await expectPromptLogs(tx, records);
    return { ...settled, storages: await storeResponses(tx, records, quota, instants.nowMs) };
  });
  committed();
  return settlements.map((settlement, index) => ({ settlement, storage: storages[index] }));
}

/**
 * Stores the record of a lost call, unless the call was seen again or recorded meanwhile; returns whether it was stored. Of several
 * replicas that try, only the one whose delete finds the row as it was read succeeds. Its settlement waits until `settledAtMs`.
 */
export async function insertLostRecord(
  db: Database,
  lost: OpenCall,
  record: PricedRecord,
  instants: RecordInstants,
  settledAtMs: number,
): Promise<boolean> {
  return db.plainTransaction(async (tx) => {
    const closed = await lockKeysOf(tx, [lost.call], instants.promisedSinceMs);
    const id = bytesOf('req', lost.call.id);
    const deleted = await tx.run('DELETE FROM open_call WHERE id = ? AND last_seen_at_ms = ?', [id, lost.lastSeenAtMs]);
    if (deleted === 0) return false;
    // A checkpoint that overtook the record of its call leaves a row behind; the record stays and the row is deleted.
    if (closed.size > 0 || (await recordedIds(tx, [id])).size > 0) return false;
    await tx.insert(recordTable, [[...recordValues(record), ...settledValues(undefined)]]);
    await markPending(tx, [namesOf(record)]);
    await deferSettlement(tx, record, settledAtMs);
    await closeKey(tx, record, instants.nowMs);
    await expectPromptLogs(tx, [record]);
    return true;
  });
}

/**
 * Replaces the record of a lost call with the call's own report, as long as the settlement of the record waits; returns false if
 * that record no longer exists, or if the call's idempotency key was freed with it and another call may be charged under it.
 */
export async function replaceLostRecord(
  db: Database,
  record: PricedRecord,
  instants: RecordInstants,
  quota: AnswerQuota,
): Promise<boolean> {
  const { call } = record.record;
  return db
    .plainTransaction(async (tx) => {
      const isClosed = (await lockKeysOf(tx, [call], instants.promisedSinceMs)).size > 0;
      const rows = await tx.run(isClosed ? `${replaceLost} AND ${wasUsed}` : replaceLost, [
        ...recordValues(record),
        bytesOf('req', call.id),
        bytesOf('acct', call.accountId),
        Outcome.OUTCOME_GATEWAY_LOST,
      ]);
      if (rows === 0) return false;
      if (!(await replaceDeferred(tx, record, instants.claimedUntilMs))) throw new SettledMeanwhile();
      await closeKey(tx, record, instants.nowMs);
      await storeResponses(tx, [record], quota, instants.nowMs);
      return true;
    })
    .catch((error: unknown) => {
      if (error instanceof SettledMeanwhile) return false;
      throw error;
    });
}

function namesOf({ record }: PricedRecord): [Buffer, Buffer] {
  return [bytesOf('req', record.call.id), bytesOf('acct', record.call.accountId)];
}

/** Rolls back the replacement of a record whose settlement has started. */
class SettledMeanwhile extends Error {}
