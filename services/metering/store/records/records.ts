// Queries for single usage records.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { asBigInt, asBytes } from '#kit/db/values.js';
import type { UsageRecord } from '#proto/metering/v1/metering.js';
import { allRecordColumns, bytesOf, recordFromRow, type RecordRow } from './record-rows.js';

const keyed = keyedText(['id']);
const selectIds = textOfRows((rows) => `SELECT id FROM usage_record WHERE ${keyed(rows)}`);

/** As a literal: SQLite uses a partial index only for a query that contains the index's own condition. */
export const isQuarantined = 'quarantined = 1';

/** Returns which of these ids (16 bytes each) are on record, as hexadecimal digits. */
export async function recordedIds(tx: PlainTransaction, ids: readonly Buffer[]): Promise<Set<string>> {
  const rows = await tx.query(selectIds(ids.length), ids);
  return new Set(rows.map((row) => asBytes(row['id']).toString('hex')));
}

/** Returns the record of a call, or undefined. */
export async function findRecord(db: Database, callId: string): Promise<UsageRecord | undefined> {
  const row: RecordRow | undefined = await db
    .knex('usage_record')
    .select(allRecordColumns)
    .where({ id: bytesOf('req', callId) })
    .first();
  return row === undefined ? undefined : recordFromRow(row);
}

/** Counts the records of calls that started since then and have figures that violated a rule. */
export async function countQuarantined(db: Database, sinceMs: number): Promise<bigint> {
  const [row]: { records: unknown }[] = await db
    .knex('usage_record')
    .where('started_at_ms', '>=', sinceMs)
    .whereRaw(isQuarantined)
    .select(db.knex.raw('COUNT(*) AS records'));
  return asBigInt(row?.records ?? 0);
}
