// Closing calls. The record, the end of its call in flight and its settlement to deliver are one
// transaction. Every transaction touches open_call first, then usage_record, then outbox, so that two never wait in a circle.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain-transaction.js';
import { insertText, keyedText, textOfRows } from '#kit/db/sql-text.js';
import type { PricedRecord } from '../usage-record.js';
import type { OpenCall } from './open-calls.js';
import { enqueueSettlements } from './outbox.js';
import { bytesOf, recordColumns, recordValues } from './record-rows.js';
import { recordedIds } from './records.js';

const keyed = keyedText(['id']);
const deleteOpenCalls = textOfRows((rows) => `DELETE FROM open_call WHERE ${keyed(rows)}`);
const insertUsageRecords = insertText('usage_record', recordColumns);

/**
 * Stores the records of ended calls, all or none. Their settlements belong to this replica until `claimedUntilMs`. Raises the
 * driver's duplicate error when one of the calls is on record already.
 */
export async function insertRecords(db: Database, records: readonly PricedRecord[], claimedUntilMs: number): Promise<void> {
  await db.plainTransaction(async (tx) => {
    await tx.run(deleteOpenCalls(records.length), records.map(({ record }) => bytesOf('req', record.call.id)));
    await insertRecordRows(tx, records, claimedUntilMs);
  });
}

/**
 * Stores the record of a call that was lost, unless the call was seen again or recorded meanwhile; true when stored. Of several
 * replicas that try, the one whose delete finds the row as it was read does it.
 */
export async function insertLostRecord(db: Database, lost: OpenCall, record: PricedRecord, claimedUntilMs: number): Promise<boolean> {
  return db.plainTransaction(async (tx) => {
    const id = bytesOf('req', lost.call.id);
    const deleted = await tx.run('DELETE FROM open_call WHERE id = ? AND last_seen_at_ms = ?', [id, lost.lastSeenAtMs]);
    if (deleted === 0) return false;
    // A checkpoint that overtook the record of its call leaves a row behind; the record stands and the row goes.
    if ((await recordedIds(tx, [id])).size > 0) return false;
    await insertRecordRows(tx, [record], claimedUntilMs);
    return true;
  });
}

async function insertRecordRows(tx: PlainTransaction, records: readonly PricedRecord[], claimedUntilMs: number): Promise<void> {
  await tx.run(insertUsageRecords(records.length), records.flatMap(recordValues));
  await enqueueSettlements(tx, records, claimedUntilMs);
}
