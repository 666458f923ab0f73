// Searching usage records: pages, newest first, and sums.
import type { Knex } from 'knex';
import { AppError } from '#kit/errors/app-error.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { Ending, GroupBy, type UsageFilter, type UsageRecord } from '#proto/metering/v1/metering.js';
import { allRecordColumns, bytesOf, recordFromRow, type RecordRow } from './record-rows.js';

const groupsMax = 10_000;
const dayMs = 86_400_000;

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

/** Sums of one group. */
export interface Totals {
  readonly name: string;
  readonly calls: bigint;
  readonly chargeNanoUsd: bigint;
  readonly inputTokens: bigint;
  readonly cacheReadTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly outputTokens: bigint;
  readonly reasoningTokens: bigint;
}

/** How a grouping is asked of the database and how its groups are called. Remainders are how both engines cut a day off. */
const groupings: Readonly<Record<number, { readonly expression: string; readonly nameOf: (value: unknown) => string }>> = {
  [GroupBy.GROUP_BY_KEY]: { expression: 'key_id', nameOf: (value) => idFromBytes('key', asBytes(value)) },
  [GroupBy.GROUP_BY_MODEL]: { expression: 'model_id', nameOf: asText },
  [GroupBy.GROUP_BY_DAY]: {
    expression: `started_at_ms - started_at_ms % ${dayMs}`,
    nameOf: (value) => new Date(asNumber(value)).toISOString().slice(0, 10),
  },
  [GroupBy.GROUP_BY_ENDING]: { expression: 'ending', nameOf: (value) => endingName(asNumber(value)) },
};

/** Sums over the filter. Raises failed_precondition when there are more groups than one answer may have. */
export async function sumRecords(db: Database, filter: UsageFilter, groupBy: GroupBy): Promise<Totals[]> {
  const grouping = groupings[groupBy];
  const query = filtered(db.knex('usage_record'), filter).select(
    db.knex.raw('COUNT(*) AS calls'),
    sum(db.knex, 'charge_nano_usd', 'charge'),
    sum(db.knex, 'input_tokens', 'input'),
    sum(db.knex, 'cache_read_tokens', 'cache_read'),
    sum(db.knex, 'cache_write_5m_tokens + cache_write_1h_tokens', 'cache_write'),
    sum(db.knex, 'output_tokens', 'output'),
    sum(db.knex, 'reasoning_tokens', 'reasoning'),
  );
  if (grouping !== undefined) {
    query.select(db.knex.raw(`${grouping.expression} AS grouped`)).groupByRaw(grouping.expression).limit(groupsMax + 1);
  }
  const rows: Record<string, unknown>[] = await query;
  if (rows.length > groupsMax) throw new AppError('failed_precondition', `There are more than ${groupsMax} groups; narrow the filter.`);
  const totals = rows.map((row) => totalsOf(row, grouping === undefined ? '' : grouping.nameOf(row['grouped'])));
  if (groupBy === GroupBy.GROUP_BY_DAY) return totals.sort((a, b) => compare(a.name, b.name));
  return totals.sort((a, b) => compare(b.chargeNanoUsd, a.chargeNanoUsd) || compare(a.name, b.name));
}

function filtered<Query extends Knex.QueryBuilder>(query: Query, filter: UsageFilter): Query {
  if (filter.accountId !== '') query.where('account_id', bytesOf('acct', filter.accountId));
  if (filter.keyId !== '') query.where('key_id', bytesOf('key', filter.keyId));
  if (filter.modelId !== '') query.where('model_id', filter.modelId);
  if (filter.fromMs > 0n) query.where('started_at_ms', '>=', Number(filter.fromMs));
  if (filter.untilMs > 0n) query.where('started_at_ms', '<', Number(filter.untilMs));
  if (filter.ending !== Ending.ENDING_UNSPECIFIED) query.where('ending', filter.ending);
  return query;
}

function sum(knex: Knex, expression: string, name: string): Knex.Raw {
  return knex.raw(`COALESCE(SUM(${expression}), 0) AS sum_${name}`);
}

function totalsOf(row: Record<string, unknown>, name: string): Totals {
  return {
    name,
    calls: asBigInt(row['calls']),
    chargeNanoUsd: asBigInt(row['sum_charge']),
    inputTokens: asBigInt(row['sum_input']),
    cacheReadTokens: asBigInt(row['sum_cache_read']),
    cacheWriteTokens: asBigInt(row['sum_cache_write']),
    outputTokens: asBigInt(row['sum_output']),
    reasoningTokens: asBigInt(row['sum_reasoning']),
  };
}

function endingName(ending: Ending): string {
  return (Ending[ending] ?? String(ending)).replace('ENDING_', '').toLowerCase();
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
