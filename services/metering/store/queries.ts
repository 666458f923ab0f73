// Searching usage records: pages, newest first.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { Ending, type UsageFilter, type UsageRecord } from '#proto/metering/v1/metering.js';
import { allRecordColumns, bytesOf, recordFromRow, type RecordRow } from './record-rows.js';

/** Where a page ends: the last record on it. */
export interface Position {
  readonly startedAtMs: bigint;
  readonly callId: string;
}

/** Up to `limit` records of the filter, newest first, after this position. The filter must be valid. */
export async function findRecords(db: Database, filter: UsageFilter, after: Position | undefined, limit: number): Promise<UsageRecord[]> {
  const query = filtered(db.knex('usage_record').select(allRecordColumns), filter);
  if (after !== undefined) {
    // The first condition is implied by the second, but only the first lets the index start at the right place.
    query
      .where('started_at_ms', '<=', Number(after.startedAtMs))
      .where((either) => either.where('started_at_ms', '<', Number(after.startedAtMs)).orWhere('id', '<', bytesOf('req', after.callId)));
  }
  const rows: RecordRow[] = await query
    .orderBy([
      { column: 'started_at_ms', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit);
  return rows.map(recordFromRow);
}

/** Adds the filter's conditions to a query over usage_record. */
export function filtered<Query extends Knex.QueryBuilder>(query: Query, filter: UsageFilter): Query {
  if (filter.accountId !== '') query.where('account_id', bytesOf('acct', filter.accountId));
  if (filter.keyId !== '') query.where('key_id', bytesOf('key', filter.keyId));
  if (filter.modelId !== '') query.where('model_id', filter.modelId);
  if (filter.fromMs > 0n) query.where('started_at_ms', '>=', Number(filter.fromMs));
  if (filter.untilMs > 0n) query.where('started_at_ms', '<', Number(filter.untilMs));
  if (filter.ending !== Ending.ENDING_UNSPECIFIED) query.where('ending', filter.ending);
  return query;
}
