// Sums over usage records, in groups and groups within those.
import type { Knex } from 'knex';
import { AppError } from '#kit/errors/app-error.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { Ending, GroupBy, type UsageFilter } from '#proto/metering/v1/metering.js';
import { filtered } from './queries.js';

const groupsMax = 10_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** What sums are grouped by. */
export interface Grouping {
  readonly groupBy: GroupBy;
  /** Within those groups; UNSPECIFIED for none. */
  readonly thenBy: GroupBy;
  /** Where days and hours are cut: minutes east of UTC. */
  readonly offsetMinutes: number;
}

/** Sums of one group. */
export interface Totals {
  readonly name: string;
  readonly thenName: string;
  readonly calls: bigint;
  readonly chargeNanoUsd: bigint;
  readonly inputTokens: bigint;
  readonly cacheReadTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly outputTokens: bigint;
  readonly reasoningTokens: bigint;
}

/** How a dimension is asked of the database and how its groups are called. */
interface Dimension {
  readonly expression: string;
  readonly nameOf: (value: unknown) => string;
  /** In the order of their names, which is that of time; others are ordered by charge. */
  readonly isTime: boolean;
}

/** Undefined for no dimension. */
function dimensionOf(groupBy: GroupBy, offsetMinutes: number): Dimension | undefined {
  switch (groupBy) {
    case GroupBy.GROUP_BY_KEY:
      return { expression: 'key_id', nameOf: (value) => idFromBytes('key', asBytes(value)), isTime: false };
    case GroupBy.GROUP_BY_MODEL:
      return { expression: 'model_id', nameOf: asText, isTime: false };
    case GroupBy.GROUP_BY_ENDING:
      return { expression: 'ending', nameOf: (value) => endingName(asNumber(value)), isTime: false };
    case GroupBy.GROUP_BY_DAY:
      return { expression: bucketOf(dayMs, offsetMinutes), nameOf: (value) => localText(value).slice(0, 10), isTime: true };
    case GroupBy.GROUP_BY_HOUR:
      return { expression: bucketOf(hourMs, offsetMinutes), nameOf: (value) => `${localText(value)}${zoneText(offsetMinutes)}`, isTime: true };
    default:
      return undefined;
  }
}

/** The start of the hour or day in local time, plus one day, which keeps the dividend of the remainder above zero in every zone. */
function bucketOf(lengthMs: number, offsetMinutes: number): string {
  const local = `(started_at_ms + ${offsetMinutes * minuteMs + dayMs})`;
  return `${local} - ${local} % ${lengthMs}`;
}

/** YYYY-MM-DDTHH:MM of a bucket. */
function localText(bucket: unknown): string {
  return new Date(asNumber(bucket) - dayMs).toISOString().slice(0, 16);
}

/** "Z" or an offset such as "+05:45". */
function zoneText(offsetMinutes: number): string {
  if (offsetMinutes === 0) return 'Z';
  const minutes = Math.abs(offsetMinutes);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** Sums over the filter. Raises failed_precondition when there are more groups than one answer may have. */
export async function sumRecords(db: Database, filter: UsageFilter, { groupBy, thenBy, offsetMinutes }: Grouping): Promise<Totals[]> {
  const first = dimensionOf(groupBy, offsetMinutes);
  const second = dimensionOf(thenBy, offsetMinutes);
  const query = filtered(db.knex('usage_record'), filter).select(
    db.knex.raw('COUNT(*) AS calls'),
    sum(db.knex, 'charge_nano_usd', 'charge'),
    sum(db.knex, 'input_tokens', 'input'),
    sum(db.knex, 'cache_read_tokens', 'cache_read'),
    sum(db.knex, 'cache_write_5m_tokens + cache_write_1h_tokens', 'cache_write'),
    sum(db.knex, 'output_tokens', 'output'),
    sum(db.knex, 'reasoning_tokens', 'reasoning'),
  );
  if (first !== undefined) query.select(db.knex.raw(`${first.expression} AS grouped`)).groupByRaw(first.expression).limit(groupsMax + 1);
  if (second !== undefined) query.select(db.knex.raw(`${second.expression} AS then_grouped`)).groupByRaw(second.expression);
  const rows: Record<string, unknown>[] = await query;
  if (rows.length > groupsMax) throw new AppError('failed_precondition', `There are more than ${groupsMax} groups; narrow the filter.`);
  const totals = rows.map((row) => totalsOf(row, first?.nameOf(row['grouped']) ?? '', second?.nameOf(row['then_grouped']) ?? ''));
  return inOrder(totals, first?.isTime ?? false, second?.isTime ?? false);
}

/** Times in their order, other groups by the charge of the whole group, the highest first; so within each group. */
function inOrder(totals: Totals[], isFirstTime: boolean, isSecondTime: boolean): Totals[] {
  const charges = new Map<string, bigint>();
  for (const { name, chargeNanoUsd } of totals) charges.set(name, (charges.get(name) ?? 0n) + chargeNanoUsd);
  return totals.sort(
    (a, b) =>
      (isFirstTime ? 0 : compare(charges.get(b.name)!, charges.get(a.name)!)) ||
      compare(a.name, b.name) ||
      (isSecondTime ? 0 : compare(b.chargeNanoUsd, a.chargeNanoUsd)) ||
      compare(a.thenName, b.thenName),
  );
}

function sum(knex: Knex, expression: string, name: string): Knex.Raw {
  return knex.raw(`COALESCE(SUM(${expression}), 0) AS sum_${name}`);
}

function totalsOf(row: Record<string, unknown>, name: string, thenName: string): Totals {
  return {
    name,
    thenName,
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
