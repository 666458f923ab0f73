// Queries for refused calls: one by request id, pages of stored ones, and exact counts.
import { dayMs, hourMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { type Refusal, type RefusalFilter, RefusalGroupBy } from '#proto/metering/v1/metering.js';
import { quarterMs } from '#rules/errors/refusals.js';
import { endOf, type Position } from '../records/queries.js';
import { bytesOf } from '../records/record-rows.js';
import { refusalColumns, refusalFromRow } from './refusals.js';
import { projectsCondition } from '../totals/summed-totals.js';
import { groupsMax, tooManyGroups } from '../totals/summed-totals.js';
import { bucketOf, localText, zoneText } from '../totals/totals.js';

/** Holds what counts are grouped by. */
export interface RefusalGrouping {
  readonly groupBy: RefusalGroupBy;
  readonly thenBy: RefusalGroupBy;
  readonly offsetMinutes: number;
}

/** Holds the count of one group. */
export interface RefusalGroup {
  readonly name: string;
  readonly thenName: string;
  readonly calls: bigint;
}

type Condition = readonly [text: string, ...values: unknown[]];

const selectRefusal = `SELECT ${refusalColumns.join(', ')} FROM refusal`;

/** Returns the stored refusal of a request, or undefined. */
export async function findRefusal(db: Database, requestId: string): Promise<Refusal | undefined> {
  const [row] = await db.query(`${selectRefusal} WHERE id = ?`, [bytesOf('req', requestId)]);
  return row === undefined ? undefined : refusalFromRow(row);
}

/** Returns up to `limit` stored refusals of the filter, newest first, after this position. The filter must be valid. */
export async function findRefusals(db: Database, filter: RefusalFilter, after: Position | undefined, limit: number): Promise<Refusal[]> {
  const conditions = dimensionsOf(filter);
  if (filter.fromMs > 0n) conditions.push(['refused_at_ms >= ?', Number(filter.fromMs)]);
  const untilMs = endOf(filter, after);
  if (untilMs < Infinity) conditions.push(['refused_at_ms < ?', untilMs]);
  if (after !== undefined) conditions.push(['(refused_at_ms < ? OR id < ?)', Number(after.startedAtMs), bytesOf('req', after.callId)]);
  const rows = await db.query(`${selectRefusal}${whereOf(conditions)} ORDER BY refused_at_ms DESC, id DESC LIMIT ?`, [
    ...valuesOf(conditions),
    limit,
  ]);
  return rows.map(refusalFromRow);
}

/** Returns exact counts over the filter. Raises failed_precondition when there are more groups than one response may have. */
export async function countRefusals(db: Database, filter: RefusalFilter, grouping: RefusalGrouping): Promise<RefusalGroup[]> {
  const { groupBy, thenBy, offsetMinutes } = grouping;
  const conditions = dimensionsOf(filter);
  if (filter.fromMs > 0n) conditions.push(['quarter_ms > ?', Number(filter.fromMs) - quarterMs]);
  if (filter.untilMs > 0n) conditions.push(['quarter_ms < ?', Number(filter.untilMs)]);
  const columns = [columnOf(groupBy, offsetMinutes, 'first_group'), columnOf(thenBy, offsetMinutes, 'second_group')].filter(
    (column) => column !== undefined,
  );
  const select = [...columns, 'SUM(calls) AS calls'].join(', ');
  const grouped = ['first_group', 'second_group'].slice(0, columns.length).join(', ');
  const rows = await db.query(
    `SELECT ${select} FROM refusal_count${whereOf(conditions)}${grouped === '' ? '' : ` GROUP BY ${grouped}`} LIMIT ${groupsMax + 1}`,
    valuesOf(conditions),
  );
  if (rows.length > groupsMax) throw tooManyGroups();
  return inOrder(
    rows.map((row) => ({
      name: nameOf(groupBy, row['first_group'], offsetMinutes),
      thenName: nameOf(thenBy, row['second_group'], offsetMinutes),
      // The sum over no rows is NULL.
      calls: row['calls'] === null ? 0n : asBigInt(row['calls']),
    })),
    grouping,
  );
}

function dimensionsOf(filter: RefusalFilter): Condition[] {
  const conditions: Condition[] = [];
  if (filter.accountId !== '') conditions.push(['account_id = ?', bytesOf('acct', filter.accountId)]);
  const projects = projectsCondition('project_id', filter.projectIds);
  if (projects !== undefined) conditions.push([projects.text, ...projects.values]);
  if (filter.keyId !== '') conditions.push(['key_id = ?', bytesOf('key', filter.keyId)]);
  if (filter.modelId !== '') conditions.push(['model_id = ?', filter.modelId]);
  if (filter.reason !== '') conditions.push(['reason = ?', filter.reason]);
  return conditions;
}

function whereOf(conditions: readonly Condition[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.map(([text]) => text).join(' AND ')}`;
}

function valuesOf(conditions: readonly Condition[]): unknown[] {
  return conditions.flatMap(([, ...values]) => values);
}

function columnOf(groupBy: RefusalGroupBy, offsetMinutes: number, alias: string): string | undefined {
  switch (groupBy) {
    case RefusalGroupBy.REFUSAL_GROUP_BY_REASON:
      return `reason AS ${alias}`;
    case RefusalGroupBy.REFUSAL_GROUP_BY_PROJECT:
      return `project_id AS ${alias}`;
    case RefusalGroupBy.REFUSAL_GROUP_BY_KEY:
      return `key_id AS ${alias}`;
    case RefusalGroupBy.REFUSAL_GROUP_BY_MODEL:
      return `model_id AS ${alias}`;
    case RefusalGroupBy.REFUSAL_GROUP_BY_DAY:
      return `${bucketOf('quarter_ms', dayMs, offsetMinutes)} AS ${alias}`;
    case RefusalGroupBy.REFUSAL_GROUP_BY_HOUR:
      return `${bucketOf('quarter_ms', hourMs, offsetMinutes)} AS ${alias}`;
    default:
      return undefined;
  }
}

function nameOf(groupBy: RefusalGroupBy, value: unknown, offsetMinutes: number): string {
  switch (groupBy) {
    case RefusalGroupBy.REFUSAL_GROUP_BY_REASON:
    case RefusalGroupBy.REFUSAL_GROUP_BY_MODEL:
      return asText(value);
    case RefusalGroupBy.REFUSAL_GROUP_BY_PROJECT:
      return idFromBytes('proj', asBytes(value));
    case RefusalGroupBy.REFUSAL_GROUP_BY_KEY:
      return idFromBytes('key', asBytes(value));
    case RefusalGroupBy.REFUSAL_GROUP_BY_DAY:
      return localText(value).slice(0, 10);
    case RefusalGroupBy.REFUSAL_GROUP_BY_HOUR:
      return `${localText(value)}${zoneText(offsetMinutes)}`;
    default:
      return '';
  }
}

/** Sorts times chronologically, other groups by the calls of the whole group, the highest first; likewise within each group. */
function inOrder(groups: RefusalGroup[], { groupBy, thenBy }: RefusalGrouping): RefusalGroup[] {
  const whole = new Map<string, bigint>();
  for (const { name, calls } of groups) whole.set(name, (whole.get(name) ?? 0n) + calls);
  return groups.toSorted(
    (a, b) =>
      (isTime(groupBy) ? 0 : compare(whole.get(b.name)!, whole.get(a.name)!)) ||
      compare(a.name, b.name) ||
      (isTime(thenBy) ? 0 : compare(b.calls, a.calls)) ||
      compare(a.thenName, b.thenName),
  );
}

function isTime(groupBy: RefusalGroupBy): boolean {
  return groupBy === RefusalGroupBy.REFUSAL_GROUP_BY_DAY || groupBy === RefusalGroupBy.REFUSAL_GROUP_BY_HOUR;
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
