// Sums over usage, in groups and nested groups.
import { dayMs, hourMs, minuteMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction, Row } from '#kit/db/plain/plain-transaction.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import { Outcome, GroupBy, type UnitTotal, type UsageFilter } from '#proto/metering/v1/metering.js';
import type { TimeGrain } from '../../rollups/plan.js';
import { addSums, chargeOf, type NamedSums, namedSums, noSums, type Sums } from '../../rollups/sums.js';
import { bytesOf } from '../records/record-rows.js';
import { stretchesOf } from '../records/stretches.js';
import { isComplete } from '../sums/rollup-steps.js';
import { addUnit, readUnits, type UnitGroup, unitTotals } from './unit-totals.js';
import {
  type DimensionColumn,
  filterOf,
  groupOf,
  groupsMax,
  type GroupRow,
  type TotalsQuery,
  readSummed,
  recordGroups,
  recordSelect,
  tooManyGroups,
} from './summed-totals.js';

const rowsMaxDefault = 100_000;

/** How many records one transaction adds up: SQLite takes a few milliseconds. */
const recordsAtATime = 1000;
/** How many accounts one transaction reads: it occupies SQLite for a few milliseconds. */
const accountsAtATime = 10;
const nextAccount = 'SELECT account_id FROM usage_series WHERE account_id > ? ORDER BY account_id LIMIT 1';

/** Holds what sums are grouped by. */
export interface Grouping {
  readonly groupBy: GroupBy;
  /** Within those groups; UNSPECIFIED for none. */
  readonly thenBy: GroupBy;
  /** Where days and hours begin: minutes east of UTC. */
  readonly offsetMinutes: number;
}

/** Holds the sums of one group. */
export interface Totals extends NamedSums {
  readonly name: string;
  readonly thenName: string;
  readonly units: UnitTotal[];
}

/** Defines how a dimension is read from a row and how its groups are named. */
interface Dimension {
  readonly column: DimensionColumn | 'bucket';
  readonly nameOf: (value: unknown) => string;
}

/** Returns undefined for no dimension. Each value is named once. */
function dimensionOf(groupBy: GroupBy, offsetMinutes: number): Dimension | undefined {
  const dimension = plainDimensionOf(groupBy, offsetMinutes);
  if (dimension === undefined) return undefined;
  const names = new Map<unknown, string>();
  const nameOf = (value: unknown): string => {
    const known = names.get(value);
    if (known !== undefined) return known;
    const name = dimension.nameOf(value);
    names.set(value, name);
    return name;
  };
  return { column: dimension.column, nameOf };
}

function plainDimensionOf(groupBy: GroupBy, offsetMinutes: number): Dimension | undefined {
  switch (groupBy) {
    case GroupBy.GROUP_BY_KEY:
      return { column: 'key_id', nameOf: (value) => idFromBytes('key', asBytes(value)) };
    case GroupBy.GROUP_BY_PROJECT:
      return { column: 'project_id', nameOf: (value) => idFromBytes('proj', asBytes(value)) };
    case GroupBy.GROUP_BY_MODEL:
      return { column: 'model_id', nameOf: asText };
    case GroupBy.GROUP_BY_OUTCOME:
      return { column: 'outcome', nameOf: (value) => outcomeName(asNumber(value)) };
    case GroupBy.GROUP_BY_DAY:
      return { column: 'bucket', nameOf: (value) => localText(value).slice(0, 10) };
    case GroupBy.GROUP_BY_HOUR:
      return { column: 'bucket', nameOf: (value) => `${localText(value)}${zoneText(offsetMinutes)}` };
    default:
      return undefined;
  }
}

/** Returns the time resolution. When days and hours are nested, the hours suffice for both. */
function grainOf({ groupBy, thenBy }: Grouping): TimeGrain {
  const groupings = [groupBy, thenBy];
  return groupings.includes(GroupBy.GROUP_BY_HOUR) ? 'hour' : groupings.includes(GroupBy.GROUP_BY_DAY) ? 'day' : 'none';
}

/** Returns the SQL for the start of the hour or day in local time, plus one day, which keeps the dividend of the remainder above zero in every zone. */
export function bucketOf(column: string, lengthMs: number, offsetMinutes: number): string {
  const local = `(${column} + ${offsetMinutes * minuteMs + dayMs})`;
  return `${local} - ${local} % ${lengthMs}`;
}

/** Returns YYYY-MM-DDTHH:MM of a bucket. */
export function localText(bucket: unknown): string {
  return new Date(asNumber(bucket) - dayMs).toISOString().slice(0, 16);
}

/** Returns "Z" or an offset such as "+05:45". */
export function zoneText(offsetMinutes: number): string {
  if (offsetMinutes === 0) return 'Z';
  const minutes = Math.abs(offsetMinutes);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/**
 * Returns sums over the filter: those of one account as of one instant, unless they are added up from its records; those of all accounts one account after
 * another. Raises too_many_groups as soon as there are more groups than one response may have, and the signal's reason once it is aborted.
 */
export async function sumRecords(db: Database, filter: UsageFilter, grouping: Grouping, signal?: AbortSignal): Promise<Totals[]> {
  const groups = new Groups(grouping);
  const pacer = new Pacer(signal);
  if (filter.accountId === '' && !(await db.plainTransaction(isComplete))) await addRecords(db, filter, groups, pacer);
  else {
    for await (const accountIds of filter.accountId === '' ? fewAtATime(accountsWithCalls(db)) : [[filter.accountId]]) {
      const filters = accountIds.map((accountId) => ({ ...filter, accountId }));
      const read = await db.plainTransaction(async (tx) => {
        const ofAccounts: (ReadRows | undefined)[] = [];
        for (const ofAccount of filters) ofAccounts.push(await readSums(tx, ofAccount, grouping));
        return ofAccounts;
      });
      for (const [index, ofAccount] of read.entries()) {
        if (ofAccount === undefined) await addRecords(db, filters[index]!, groups, pacer);
        else groups.add(ofAccount);
      }
      if (filter.accountId === '') await pacer.step();
    }
  }
  return groups.totals();
}

/** Returns the sums over the filter as `sumRecords` does, but always as of one instant, in an open transaction. Raises too_many_groups. */
export async function sumIn(tx: PlainTransaction, filter: UsageFilter, grouping: Grouping, rowsMax?: number): Promise<Totals[]> {
  const groups = new Groups(grouping);
  groups.add((await readSums(tx, filter, grouping, rowsMax)) ?? (await readRecords(tx, filter, grouping, rowsMax)));
  return groups.totals();
}

/** Adds up the records themselves, a bounded number at a time. */
async function addRecords(db: Database, filter: UsageFilter, groups: Groups, pacer: Pacer): Promise<void> {
  const period = { fromMs: Number(filter.fromMs), untilMs: filter.untilMs === 0n ? Infinity : Number(filter.untilMs) };
  for await (const { fromMs, untilMs } of stretchesOf(db, filter, period, recordsAtATime)) {
    const stretch = { ...filter, fromMs: BigInt(fromMs), untilMs: BigInt(untilMs) };
    groups.add(await db.plainTransaction((tx) => readRecords(tx, stretch, groups.grouping)));
    await pacer.step();
  }
}

async function* fewAtATime(accounts: AsyncIterable<string>): AsyncGenerator<string[]> {
  const few: string[] = [];
  for await (const account of accounts) {
    few.push(account);
    if (few.length === accountsAtATime) yield few.splice(0);
  }
  if (few.length > 0) yield few;
}

/** Yields the accounts that have sums, or records that are not in them yet. */
async function* accountsWithCalls(db: Database): AsyncGenerator<string> {
  const waiting: Row[] = await db.knex('usage_unfolded').distinct('account_id');
  const others = new Set(waiting.map((row) => idOf(row['account_id'])));
  for (let last: Buffer = Buffer.alloc(0); ;) {
    const [next] = await db.query(nextAccount, [last]);
    if (next === undefined) break;
    last = asBytes(next['account_id']);
    others.delete(idOf(last));
    yield idOf(last);
  }
  yield* others;
}

const idOf = (account: unknown): string => idFromBytes('acct', asBytes(account));

function dimensionsOf(filter: UsageFilter, grouping: Grouping) {
  const { groupBy, thenBy, offsetMinutes } = grouping;
  const first = dimensionOf(groupBy, offsetMinutes);
  const second = dimensionOf(thenBy, offsetMinutes);
  const grain = grainOf(grouping);
  const columns = new Set([first?.column, second?.column].filter((column) => column !== undefined && column !== 'bucket'));
  const lengthMs = grain === 'hour' ? hourMs : dayMs;
  const query: TotalsQuery = { filter, columns, grain, offsetMinutes, bucketOf: (column) => bucketOf(column, lengthMs, offsetMinutes) };
  return { first, second, query };
}

/** Holds what one transaction read: several rows may be of the same group. */
interface ReadRows {
  readonly rows: readonly GroupRow[];
  readonly units: readonly UnitGroup[];
}

/**
 * Reads the kept sums over a filter; undefined if the records must be read. All sums but those of units other than tokens are of one instant, even if the
 * statements of the transaction are not. Raises too_many_groups when there are more than `rowsMax` rows to read.
 */
async function readSums(
  tx: PlainTransaction,
  filter: UsageFilter,
  grouping: Grouping,
  rowsMax = rowsMaxDefault,
): Promise<ReadRows | undefined> {
  const { query } = dimensionsOf(filter, grouping);
  const rows = await readSummed(tx, query, rowsMax);
  if (rows === undefined) return undefined;
  if (rows.length > rowsMax) throw tooManyGroups();
  return { rows, units: await readUnits(tx, query, await isComplete(tx)) };
}

/** Adds up rows by group and subgroup. */
class Groups {
  private readonly dimensions: Pick<ReturnType<typeof dimensionsOf>, 'first' | 'second'>;
  private readonly sums = new Map<string, Map<string, Sums>>();
  /** By both names, and by unit. */
  private readonly units = new Map<string, Map<string, UnitTotal>>();
  private count = 0;

  constructor(readonly grouping: Grouping) {
    const { groupBy, thenBy, offsetMinutes } = grouping;
    this.dimensions = { first: dimensionOf(groupBy, offsetMinutes), second: dimensionOf(thenBy, offsetMinutes) };
  }

  /** Raises too_many_groups. */
  add({ rows, units }: ReadRows): void {
    for (const row of rows) {
      // Sums over no records, which only a response without groups shows.
      if (row.sums[0] === 0n && this.grouping.groupBy !== GroupBy.GROUP_BY_UNSPECIFIED) continue;
      const [name, thenName] = this.namesOf(row);
      const within = this.sums.get(name) ?? new Map<string, Sums>();
      this.sums.set(name, within);
      const sums = within.get(thenName);
      if (sums !== undefined) {
        addSums(sums, row.sums);
        continue;
      }
      within.set(thenName, row.sums);
      this.count += 1;
    }
    if (this.count > groupsMax) throw tooManyGroups();
    for (const { row, ...total } of units) {
      const name = this.namesOf(row).join(' ');
      const sums = this.units.get(name) ?? new Map<string, UnitTotal>();
      this.units.set(name, sums);
      addUnit(sums, total);
    }
  }

  totals(): Totals[] {
    const { groupBy, thenBy } = this.grouping;
    if (groupBy === GroupBy.GROUP_BY_UNSPECIFIED && this.sums.size === 0) this.sums.set('', new Map([['', noSums()]]));
    return inOrder(this.sums, this.units, isTime(groupBy), isTime(thenBy));
  }

  private namesOf(row: Readonly<Record<Dimension['column'], unknown>>): [string, string] {
    const { first, second } = this.dimensions;
    return [first?.nameOf(row[first.column]) ?? '', second?.nameOf(row[second.column]) ?? ''];
  }
}

/** Reads sums from the records alone. Raises too_many_groups when there are more than `rowsMax` rows. */
async function readRecords(tx: PlainTransaction, filter: UsageFilter, grouping: Grouping, rowsMax = rowsMaxDefault): Promise<ReadRows> {
  const { query } = dimensionsOf(filter, grouping);
  const { accountId, fromMs, untilMs } = query.filter;
  const { text, values } = filterOf(query.filter, 'r');
  const conditions: [string, unknown][] = [];
  if (accountId !== '') conditions.push(['r.account_id = ?', bytesOf('acct', accountId)]);
  if (fromMs > 0n) conditions.push(['r.started_at_ms >= ?', Number(fromMs)]);
  if (untilMs > 0n) conditions.push(['r.started_at_ms < ?', Number(untilMs)]);
  const where = `1 = 1${conditions.map(([condition]) => ` AND ${condition}`).join('')}${text}`;
  const select = `${recordSelect(query)} FROM usage_record r WHERE ${where}${recordGroups(query)} LIMIT ${rowsMax + 1}`;
  const rows = await tx.query(select, [...conditions.map(([, value]) => value), ...values]);
  if (rows.length > rowsMax) throw tooManyGroups();
  return { rows: rows.map((row) => groupOf(row, new Map(), query.columns)), units: await readUnits(tx, query, false) };
}

function isTime(groupBy: GroupBy): boolean {
  return groupBy === GroupBy.GROUP_BY_DAY || groupBy === GroupBy.GROUP_BY_HOUR;
}

/** Sorts times chronologically, other groups by the charge of the whole group, the highest first; likewise within each group. */
function inOrder(
  groups: ReadonlyMap<string, ReadonlyMap<string, Sums>>,
  units: ReadonlyMap<string, ReadonlyMap<string, UnitTotal>>,
  isFirstTime: boolean,
  isSecondTime: boolean,
): Totals[] {
  const whole = [...groups].map(([name, within]) => ({
    name,
    within,
    charge: isFirstTime ? 0n : [...within.values()].reduce((sum, sums) => sum + chargeOf(sums), 0n),
  }));
  whole.sort((a, b) => compare(b.charge, a.charge) || compare(a.name, b.name));
  return whole.flatMap(({ name, within }) => {
    const parts = [...within];
    parts.sort(([aName, a], [bName, b]) => (isSecondTime ? 0 : compare(chargeOf(b), chargeOf(a))) || compare(aName, bName));
    return parts.map(([thenName, sums]): Totals => ({
      name,
      thenName,
      ...namedSums(sums),
      units: unitTotals(units.get(`${name} ${thenName}`) ?? new Map()),
    }));
  });
}

function outcomeName(outcome: Outcome): string {
  return (Outcome[outcome] ?? String(outcome)).replace('OUTCOME_', '').toLowerCase();
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
