// The archiver's queries.
import type { Database } from '#kit/db/open.js';
import type { UsageRecord } from '#proto/metering/v1/metering.js';
import { asNumber } from '#kit/db/values.js';
import { RefundState } from './settlement/refund-outbox.js';
import { allRecordColumns, bytesOf, recordFromRow, type RecordRow } from './records/record-rows.js';

/**
 * Returns the settled records of calls that started before this instant, the oldest first, except those with a refund that is not booked. With `last`, only
 * those after it.
 */
export async function oldSettledRecords(
  db: Database,
  untilMs: number,
  last: UsageRecord | undefined,
  limit: number,
): Promise<UsageRecord[]> {
  const { startedAtMs: fromMs, id } = last?.call ?? { startedAtMs: 0n, id: undefined };
  const rows: RecordRow[] = await db
    .knex('usage_record')
    .select(allRecordColumns)
    .whereBetween('started_at_ms', [Number(fromMs), untilMs - 1])
    .where((after) => {
      if (id !== undefined) void after.where('started_at_ms', '>', Number(fromMs)).orWhere('id', '>', bytesOf('req', id));
    })
    .whereNotNull('settled_at_ms')
    .whereNotIn('id', db.knex('refund_outbox').select('id').whereNot('state', RefundState.booked))
    .orderBy(['started_at_ms', 'id'])
    .limit(limit);
  return rows.map(recordFromRow);
}

/** Stores that records of calls that started before this instant may be gone; the stored instant only moves forward. */
export async function noteArchivedUntil(db: Database, untilMs: number): Promise<void> {
  await db.knex('usage_archive').where('until_ms', '<', untilMs).update({ until_ms: untilMs });
}

/** Returns the instant before which calls may have started whose records are in the archive; 0 if none are. */
export async function archivedUntilMs(db: Database): Promise<number> {
  const [row] = await db.knex('usage_archive').select('until_ms');
  return asNumber(row.until_ms);
}
