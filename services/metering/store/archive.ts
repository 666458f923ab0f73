// What the archiver reads and removes.
import type { Database } from '#kit/db/open.js';
import { keyedText, textOfRows } from '#kit/db/sql-text.js';
import type { UsageRecord } from '#proto/metering/v1/metering.js';
import { allRecordColumns, bytesOf, recordFromRow, type RecordRow } from './record-rows.js';

/** Ids of one statement: MariaDB's plan for longer lists changes. */
const idsPerStatement = 200;

const keyed = keyedText(['id']);
const deleteRecords = textOfRows((rows) => `DELETE FROM usage_record WHERE ${keyed(rows)}`);

/** The settled records of calls that started before this instant, the oldest first. */
export async function oldSettledRecords(db: Database, untilMs: number, limit: number): Promise<UsageRecord[]> {
  const rows: RecordRow[] = await db
    .knex('usage_record')
    .select(allRecordColumns)
    .where('started_at_ms', '<', untilMs)
    .whereNotNull('settled_at_ms')
    .orderBy(['started_at_ms', 'id'])
    .limit(limit);
  return rows.map(recordFromRow);
}

/** Removes records; those that are gone already are no fault. */
export async function removeRecords(db: Database, callIds: readonly string[]): Promise<void> {
  for (let start = 0; start < callIds.length; start += idsPerStatement) {
    const ids = callIds.slice(start, start + idsPerStatement).map((callId) => bytesOf('req', callId));
    await db.plainTransaction((tx) => tx.run(deleteRecords(ids.length), ids));
  }
}
