// The archiver's queries.
import type { Database } from '#kit/db/open.js';
import type { UsageRecord } from '#proto/metering/v1/metering.js';
import { allRecordColumns, recordFromRow, type RecordRow } from './record-rows.js';

/** Returns the settled records of calls that started before this instant, the oldest first. */
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
