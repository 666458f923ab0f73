// Queries for usage records: pages, newest first or in another order.
import type { Database } from '#kit/db/open.js';
import type { Bindings } from '#kit/db/plain/plain-transaction.js';
import { asBigInt } from '#kit/db/values.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import { Outcome, RecordOrder, type UsageFilter, type UsageRecord } from '#proto/metering/v1/metering.js';
import type { Stretch } from '../../rollups/plan.js';
import { isIndexed, quartersWithCalls } from '../totals/quarters-with-calls.js';
import { keysCondition, projectsCondition } from '../totals/summed-totals.js';
import { allRecordColumns, bytesOf, recordFromRow, type RecordRow } from './record-rows.js';
import { stretchesOf } from './stretches.js';

/** Holds the end of a page: the last record on it. */
export interface Position {
  readonly startedAtMs: bigint;
  readonly callId: string;
}

interface Condition {
  readonly text: string;
  readonly values: Bindings;
}

/** Searched at a time: bounds how long SQLite occupies the process. */
const recordsPerStretch = 5000;
/** Per statement; SQLite accepts 500 parts. */
const stretchesPerStatementMax = 100;
/** Per statement; SQLite accepts 32,766. */
const valuesMax = 20_000;
const selected = allRecordColumns.map((column) => `r.${column}`).join(', ');
const newestFirst = 'ORDER BY started_at_ms DESC, id DESC LIMIT ?';

/**
 * Returns up to `limit` records of the filter, newest first, after this position. The filter must be valid. A search without an index raises the signal's
 * reason once it is aborted.
 */
export async function findRecords(
  db: Database,
  filter: UsageFilter,
  after: Position | undefined,
  limit: number,
  signal?: AbortSignal,
): Promise<UsageRecord[]> {
  const period = periodOf(filter, after);
  const conditions = conditionsOf(filter, after);
  if (filter.accountId === '' && isNarrowed(filter)) return search(db, filter, conditions, period, limit, signal);
  // There are indexes only by account and by key, but sums show when there were other calls.
  const quarters = await quartersWithCalls(db, filter, period.untilMs, limit);
  if (quarters !== undefined) {
    const within = quarters.stretches.map(({ fromMs, untilMs }) => ({
      fromMs: Math.max(fromMs, period.fromMs),
      untilMs: Math.min(untilMs, period.untilMs),
    }));
    const found = await inStretches(db, conditions, within, limit);
    // Some of them may have been archived since, and there may be older ones.
    if (found.length === limit || quarters.areAll) return found;
  }
  if (filter.accountId !== '' && !isIndexed(filter)) return search(db, filter, conditions, period, limit, signal);
  const all = [...conditions, ...boundsOf(period)];
  return read(db, { text: `SELECT id FROM usage_record${whereOf(all)} ${newestFirst}`, values: [...valuesOf(all), limit] }, limit);
}

/** Returns the statement that reads these columns of the newest records of a filter; bind their number last. */
export function newestOf(filter: UsageFilter, columns: string): { readonly text: string; readonly values: unknown[] } {
  const conditions = [...conditionsOf(filter, undefined), ...boundsOf(periodOf(filter, undefined))];
  return { text: `SELECT ${columns} FROM usage_record${whereOf(conditions)} ${newestFirst}`, values: valuesOf(conditions) };
}

/** How many records are read to put them in another order, which bounds the time of a query without an index for each order. */
const orderedMax = 20_000;

const orderedBy: Readonly<Partial<Record<RecordOrder, string>>> = {
  [RecordOrder.RECORD_ORDER_CHARGE]: 'charge_nano_usd',
  [RecordOrder.RECORD_ORDER_INPUT]: 'input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens',
  [RecordOrder.RECORD_ORDER_OUTPUT]: 'output_tokens',
  [RecordOrder.RECORD_ORDER_DURATION]: 'duration_ms',
  [RecordOrder.RECORD_ORDER_FIRST_OUTPUT]: 'COALESCE(first_output_ms, -1)',
};

/** Holds a record and the value by which it is ordered. */
export interface OrderedRecord {
  readonly record: UsageRecord;
  readonly value: bigint;
}

/** Reports whether the order is known. */
export const isOrder = (order: RecordOrder): boolean => orderedBy[order] !== undefined;

/**
 * Returns up to `limit` of the newest `orderedMax` records of the filter in this order, after this value and id, and whether there are more than those.
 * The filter must be valid.
 */
export async function findOrderedRecords(
  db: Database,
  filter: UsageFilter,
  order: RecordOrder,
  after: { readonly value: bigint; readonly callId: string } | undefined,
  limit: number,
): Promise<{ records: OrderedRecord[]; isNewestOnly: boolean }> {
  const { text: newest, values } = newestOf(filter, `id, ${orderedBy[order]} AS sort_value`);
  const beyond = after === undefined ? '' : ' WHERE sort_value < ? OR (sort_value = ? AND id < ?)';
  const text =
    `SELECT ${selected}, page.sort_value FROM (SELECT id, sort_value FROM (${newest}) newest${beyond} ORDER BY sort_value DESC, id DESC LIMIT ?) page` +
    ' JOIN usage_record r ON r.id = page.id ORDER BY page.sort_value DESC, r.id DESC';
  const place = after === undefined ? [] : [after.value, after.value, bytesOf('req', after.callId)];
  const [rows, next] = await Promise.all([
    db.plainTransaction((tx) => tx.query(text, [...values, orderedMax, ...place, limit])),
    db.query(`${newestOf(filter, 'id').text} OFFSET ${orderedMax}`, [...values, 1]),
  ]);
  return {
    records: rows.map((row) => ({ record: recordFromRow(row as unknown as RecordRow), value: asBigInt(row['sort_value']) })),
    isNewestOnly: next.length > 0,
  };
}

function isNarrowed({ projectIds, keyId, keyIds, modelId, outcome }: UsageFilter): boolean {
  return projectIds.length + keyIds.length > 0 || keyId !== '' || modelId !== '' || outcome !== Outcome.OUTCOME_UNSPECIFIED;
}

/** Searches records for which there is no index, a bounded number at a time. */
async function search(
  db: Database,
  filter: UsageFilter,
  conditions: readonly Condition[],
  period: Stretch,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<UsageRecord[]> {
  const found: UsageRecord[] = [];
  const pacer = new Pacer(signal);
  for await (const stretch of stretchesOf(db, filter, period, recordsPerStretch)) {
    found.push(...(await inStretches(db, conditions, [stretch], limit - found.length)));
    if (found.length === limit) break;
    await pacer.step();
  }
  return found;
}

/** Returns up to `limit` records that meet the conditions and started within one of the periods, which are given newest first. */
async function inStretches(
  db: Database,
  conditions: readonly Condition[],
  stretches: readonly Stretch[],
  limit: number,
): Promise<UsageRecord[]> {
  const found: UsageRecord[] = [];
  const valuesPerStretch = valuesOf(conditions).length + 2;
  const stretchesPerStatement = Math.min(stretchesPerStatementMax, Math.floor(valuesMax / valuesPerStretch));
  for (let start = 0; start < stretches.length && found.length < limit; start += stretchesPerStatement) {
    const members = stretches.slice(start, start + stretchesPerStatement).map(({ fromMs, untilMs }): Condition => {
      const all = [...conditions, ...boundsOf({ fromMs, untilMs })];
      return { text: `SELECT id FROM usage_record${whereOf(all)}`, values: valuesOf(all) };
    });
    const ids = { text: members.map(({ text }) => text).join(' UNION ALL '), values: valuesOf(members) };
    found.push(...(await read(db, ids, limit - found.length)));
  }
  return found;
}

/**
 * Returns the records with these ids. Ids alone are read from the index, which MariaDB then enters at the requested time; for whole records it would also read
 * all newer ones.
 */
async function read(db: Database, ids: Condition, limit: number): Promise<UsageRecord[]> {
  const text = `SELECT ${selected} FROM (${ids.text}) page JOIN usage_record r ON r.id = page.id ORDER BY r.started_at_ms DESC, r.id DESC LIMIT ?`;
  const rows = await db.plainTransaction((tx) => tx.query(text, [...ids.values, limit]));
  return (rows as unknown as RecordRow[]).map(recordFromRow);
}

/** Returns the conditions on records other than the period. */
function conditionsOf(filter: UsageFilter, after: Position | undefined): Condition[] {
  const conditions: Condition[] = [];
  const add = (text: string, ...values: unknown[]): void => void conditions.push({ text, values });
  if (filter.accountId !== '') add('account_id = ?', bytesOf('acct', filter.accountId));
  const projects = projectsCondition('project_id', filter.projectIds);
  if (projects !== undefined) add(projects.text, ...projects.values);
  if (filter.keyId !== '') add('key_id = ?', bytesOf('key', filter.keyId));
  const keys = keysCondition('key_id', filter.keyIds);
  if (keys !== undefined) add(keys.text, ...keys.values);
  if (filter.modelId !== '') add('model_id = ?', filter.modelId);
  if (filter.outcome !== Outcome.OUTCOME_UNSPECIFIED) add('outcome = ?', filter.outcome);
  if (after !== undefined) add('(started_at_ms < ? OR id < ?)', Number(after.startedAtMs), bytesOf('req', after.callId));
  return conditions;
}

/** Returns the period in which the calls of a page started, as one lower and one upper bound: of two, SQLite would read the index from the first. */
function periodOf(filter: UsageFilter, after: Position | undefined): Stretch {
  return { fromMs: Number(filter.fromMs), untilMs: endOf(filter, after) };
}

function boundsOf({ fromMs, untilMs }: Stretch): Condition[] {
  return [
    ...(fromMs > 0 ? [{ text: 'started_at_ms >= ?', values: [fromMs] }] : []),
    ...(untilMs < Infinity ? [{ text: 'started_at_ms < ?', values: [untilMs] }] : []),
  ];
}

/** Returns the instant before which the calls of a page started; infinity if there is none. */
export function endOf({ untilMs }: Pick<UsageFilter, 'untilMs'>, after: Position | undefined): number {
  return Math.min(after === undefined ? Infinity : Number(after.startedAtMs) + 1, untilMs === 0n ? Infinity : Number(untilMs));
}

function whereOf(conditions: readonly Condition[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.map(({ text }) => text).join(' AND ')}`;
}

function valuesOf(conditions: readonly Condition[]): unknown[] {
  return conditions.flatMap(({ values }) => values);
}
