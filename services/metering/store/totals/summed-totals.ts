// Sums over a filter from the kept sums, from records that are not in them yet, and from records at the edges of the requested
// period, all read by one statement, so that they are of one instant.
import type { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { dayMs } from '#kit/clock.js';
import type { PlainTransaction, Row } from '#kit/db/plain/plain-transaction.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';
import { Outcome, type UsageFilter } from '#proto/metering/v1/metering.js';
import { type Plan, planOf, type Stretch, type TimeGrain } from '../../rollups/plan.js';
import { Shape } from '../../rollups/shapes.js';
import { type Sums, sumColumns, sumsFromRow, sumsOfRecords, sumsOfRollups } from '../../rollups/sums.js';
import { Phase } from '../sums/rollup-steps.js';
import { bytesOf } from '../records/record-rows.js';

/** Maximum number of groups of a response. */
export const groupsMax = 10_000;

/** Returns the error of a response that would have more than `groupsMax` groups. */
export function tooManyGroups(): AppError {
  return fault('too_many_groups', { max: groupsMax });
}

/** With more series than this, records are read instead; a statement names each of them. */
const seriesMax = 5000;
/** Per part of a statement: MariaDB's plan for lists above a thousand changes. */
const seriesPerPart = 500;
/** Parts of a statement; SQLite accepts 500. */
const groupMembersMax = 150;
/** Retries when new series appear during a read; afterwards records are read. */
const triesMax = 5;

/** With fewer groups of series, the sums are read without looking for too many groups first: there are seldom more than a few hundred days. */
const probedGroupsMin = 20;

const noSums = sumColumns.map((column) => `0 AS ${column}`).join(', ');

/** The dimensions besides time by which sums can be grouped. */
export type DimensionColumn = 'project_id' | 'key_id' | 'model_id' | 'outcome';

const shapeName = (columns: Iterable<DimensionColumn>): string => [...columns].sort().join(' ');
const shapeByColumns = new Map(
  (
    [
      [Shape.account, []],
      [Shape.key, ['key_id']],
      [Shape.model, ['model_id']],
      [Shape.outcome, ['outcome']],
      [Shape.keyModel, ['key_id', 'model_id']],
      [Shape.keyOutcome, ['key_id', 'outcome']],
      [Shape.modelOutcome, ['model_id', 'outcome']],
      [Shape.all, ['key_id', 'model_id', 'outcome']],
    ] as [Shape, DimensionColumn[]][]
  ).map(([shape, columns]) => [shapeName(columns), shape]),
);

/** Holds a query. The filter must be valid. */
export interface TotalsQuery {
  readonly filter: UsageFilter;
  readonly columns: ReadonlySet<DimensionColumn>;
  readonly grain: TimeGrain;
  readonly offsetMinutes: number;
  /** Returns the SQL for the local day or hour of an instant in this column. */
  readonly bucketOf: (column: string) => string;
}

/** Holds sums of one group, possibly one of several rows for the same group; what is not grouped by is null. */
export interface GroupRow {
  readonly project_id: unknown;
  readonly key_id: unknown;
  readonly model_id: unknown;
  readonly outcome: unknown;
  readonly bucket: unknown;
  readonly sums: Sums;
}

interface Series {
  readonly number: number;
  readonly project_id: Buffer;
  readonly key_id: Buffer;
  readonly model_id: string;
  readonly outcome: number;
}

/** Holds a text and the values of its placeholders. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Returns at most `rowsMax + 1` rows; that many mean that there are too many. Returns undefined when records must be read one by one: without an account,
 * during the initial backfill, and for very many series. Raises too_many_groups if few rows show that there are too many groups.
 */
export async function readSummed(tx: PlainTransaction, query: TotalsQuery, rowsMax: number): Promise<GroupRow[] | undefined> {
  if (query.filter.accountId === '') return undefined;
  const shape = shapeOf(query);
  const { accountId, fromMs, untilMs } = query.filter;
  const plan = planOf(shape, Number(fromMs), Number(untilMs), query.grain, query.offsetMinutes);
  const account = bytesOf('acct', accountId);
  for (let attempt = 0; attempt < triesMax; attempt += 1) {
    const [state] = await rowsOf(tx, stateText(account, shape));
    if (state === undefined || asNumber(state['phase']) !== Phase.complete) return undefined;
    const series = await seriesOf(tx, account, shape, query.filter);
    if (series.length > seriesMax) return undefined;
    if (await hasTooManyGroups(tx, plan, account, series, query)) throw tooManyGroups();
    const rows = await rowsOf(tx, statementOf(plan, account, shape, series, query, rowsMax));
    const check = rows.find((row) => asNumber(row['kind']) === 0);
    // Tries again if calls of a new series were added meanwhile, or if all sums are being rebuilt.
    if (
      check === undefined ||
      asNumber(check['series']) !== asNumber(state['series']) ||
      asNumber(check['bucket']) !== asNumber(state['epoch'])
    )
      continue;
    const byNumber = new Map(series.map((each) => [each.number, each]));
    rows.splice(rows.indexOf(check), 1);
    return rows.map((row) => groupOf(row, byNumber, query.columns));
  }
  return undefined;
}

/** Returns the shape with the dimensions that this query needs. */
export function shapeOf({ filter, columns }: Pick<TotalsQuery, 'filter' | 'columns'>): Shape {
  const columnsNeeded = new Set(columns);
  // Shapes with keys have projects too.
  const ofProjects = columnsNeeded.delete('project_id') || filter.projectIds.length > 0;
  if (filter.keyId !== '' || filter.keyIds.length > 0 || ofProjects) columnsNeeded.add('key_id');
  if (filter.modelId !== '') columnsNeeded.add('model_id');
  if (filter.outcome !== Outcome.OUTCOME_UNSPECIFIED) columnsNeeded.add('outcome');
  return shapeByColumns.get(shapeName(columnsNeeded))!;
}

/** Returns a statement that reads how complete the sums are, and the number of the last series. */
function stateText(account: Buffer, shape: Shape): Statement {
  return {
    text: 'SELECT phase, epoch, (SELECT COALESCE(MAX(series), 0) FROM usage_series WHERE account_id = ? AND shape = ?) AS series FROM usage_summing',
    values: [account, shape],
  };
}

async function seriesOf(tx: PlainTransaction, account: Buffer, shape: Shape, filter: UsageFilter): Promise<Series[]> {
  const { text, values } = filterOf(filter, 's');
  const select = `SELECT s.series, s.project_id, s.key_id, s.model_id, s.outcome FROM usage_series s WHERE s.account_id = ? AND s.shape = ?${text} LIMIT ${seriesMax + 1}`;
  const rows = await tx.query(select, [account, shape, ...values]);
  return rows.map((row) => ({
    number: asNumber(row['series']),
    project_id: asBytes(row['project_id']),
    key_id: asBytes(row['key_id']),
    model_id: asText(row['model_id']),
    outcome: asNumber(row['outcome']),
  }));
}

function statementOf(plan: Plan, account: Buffer, shape: Shape, series: readonly Series[], query: TotalsQuery, rowsMax: number): Statement {
  const members: Statement[] = [
    {
      text: `SELECT 0 AS kind, (SELECT COALESCE(MAX(series), 0) FROM usage_series WHERE account_id = ? AND shape = ?) AS series, NULL AS project_id, NULL AS key_id, NULL AS model_id, NULL AS outcome, epoch AS bucket, ${noSums} FROM usage_summing`,
      values: [account, shape],
    },
  ];
  members.push(...rollupMembers(plan, account, series, query));
  if (plan.pieces.length > 0) members.push(pendingMember(plan.summed, account, query));
  for (const edge of plan.edges) members.push(edgeMember(edge, account, query));
  return {
    // The check row, and one row more than the maximum.
    text: `${members.map(({ text }) => text).join(' UNION ALL ')} LIMIT ${rowsMax + 2}`,
    values: members.flatMap(({ values }) => values),
  };
}

/** Reports whether the first sums of the longest piece already have more groups of series and time than one response may have. */
async function hasTooManyGroups(
  tx: PlainTransaction,
  { pieces }: Plan,
  account: Buffer,
  series: readonly Series[],
  { grain, columns, bucketOf }: TotalsQuery,
): Promise<boolean> {
  const groups = grain === 'none' ? [] : groupsOf(series, columns);
  const [piece] = pieces.toSorted((a, b) => b.untilMs - b.fromMs - (a.untilMs - a.fromMs));
  if (groups.length < probedGroupsMin || piece === undefined) return false;
  const list = series.slice(0, seriesPerPart).map(({ number }) => number);
  const rows = await rowsOf(tx, {
    text:
      `SELECT series, ${bucketOf('bucket_ms')} AS bucket FROM usage_sum WHERE account_id = ? AND part IN (${marks(piece.parts)}) AND series IN (${marks(list)})` +
      ` AND bucket_ms >= ? AND bucket_ms < ? LIMIT ${2 * groupsMax}`,
    values: [account, ...piece.parts, ...list, piece.fromMs, piece.untilMs],
  });
  const groupOfSeries = new Map(groups.flatMap((members, index) => members.map(({ number }) => [number, index] as const)));
  return new Set(rows.map((row) => `${groupOfSeries.get(asNumber(row['series']))} ${String(row['bucket'])}`)).size > groupsMax;
}

/** Returns a part of the statement per piece and per group of series; if those would be too many, grouping is left to the caller. */
function rollupMembers(
  { pieces }: Plan,
  account: Buffer,
  series: readonly Series[],
  { grain, columns, bucketOf }: TotalsQuery,
): Statement[] {
  const bucket = grain === 'none' ? 'NULL' : bucketOf('bucket_ms');
  const groups = groupsOf(series, columns);
  const isGroupPerSeries = groups.length === series.length || groups.length * pieces.length > groupMembersMax;
  const lists = (isGroupPerSeries ? [[...series]] : groups).flatMap((list) => chunks(list, seriesPerPart));
  const grouped = [...(isGroupPerSeries ? ['series'] : []), ...(grain === 'none' ? [] : [bucket])];
  return pieces.flatMap(({ parts, fromMs, untilMs, exceptAtMs, isOneRowPerGroup }) =>
    lists.map((list) => ({
      text:
        `SELECT 1 AS kind, ${isGroupPerSeries ? 'series' : '? AS series'}, NULL AS project_id, NULL AS key_id, NULL AS model_id, NULL AS outcome, ${bucket} AS bucket, ${isOneRowPerGroup && isGroupPerSeries ? sumColumns.join(', ') : sumsOfRollups} FROM usage_sum` +
        ` WHERE account_id = ? AND part IN (${marks(parts)}) AND series IN (${marks(list)}) AND bucket_ms >= ? AND bucket_ms < ?` +
        (exceptAtMs === undefined ? '' : ` AND bucket_ms % ${dayMs} <> ${exceptAtMs}`) +
        (isOneRowPerGroup && isGroupPerSeries ? '' : groupText(grouped)),
      // Any of the series represents its group.
      values: [...(isGroupPerSeries ? [] : [list[0]!.number]), account, ...parts, ...list.map(({ number }) => number), fromMs, untilMs],
    })),
  );
}

/** Groups series that have the same values in the grouped columns. */
function groupsOf(series: readonly Series[], columns: ReadonlySet<DimensionColumn>): Series[][] {
  const nameOf = ({ project_id, key_id, model_id, outcome }: Series): string =>
    [
      columns.has('project_id') ? project_id.toString('hex') : '',
      columns.has('key_id') ? key_id.toString('hex') : '',
      columns.has('outcome') ? outcome : '',
      columns.has('model_id') ? model_id : '',
    ].join(' ');
  const groups = new Map<string, Series[]>();
  for (const each of series) {
    const name = nameOf(each);
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups.values()];
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
}

/** Returns a part for the records of this period that are not in the sums yet. They are few, and found by their ids. */
function pendingMember(stretch: Stretch, account: Buffer, query: TotalsQuery): Statement {
  const { text, values } = filterOf(query.filter, 'r');
  return {
    // For SQLite CROSS JOIN means: in this order. The "+ 0" keeps both engines from reading the period by its index.
    text: `${recordSelect(query)} FROM usage_unfolded u CROSS JOIN usage_record r ON r.id = u.id WHERE u.account_id = ? AND r.started_at_ms + 0 >= ? AND r.started_at_ms + 0 < ?${text}${recordGroups(query)}`,
    values: [account, stretch.fromMs, stretch.untilMs, ...values],
  };
}

function edgeMember(edge: Stretch, account: Buffer, query: TotalsQuery): Statement {
  const { text, values } = filterOf(query.filter, 'r');
  return {
    text: `${recordSelect(query)} FROM usage_record r WHERE r.account_id = ? AND r.started_at_ms >= ? AND r.started_at_ms < ?${text}${recordGroups(query)}`,
    values: [account, edge.fromMs, edge.untilMs, ...values],
  };
}

/** Returns sums over rows of usage_record `r`, in the columns of `GroupRow`. */
export function recordSelect({ columns, grain, bucketOf }: TotalsQuery): string {
  const column = (name: DimensionColumn): string => (columns.has(name) ? `r.${name} AS ${name}` : `NULL AS ${name}`);
  const bucket = grain === 'none' ? 'NULL' : bucketOf('r.started_at_ms');
  return `SELECT 2 AS kind, NULL AS series, ${column('project_id')}, ${column('key_id')}, ${column('model_id')}, ${column('outcome')}, ${bucket} AS bucket, ${sumsOfRecords}`;
}

/** Returns what `recordSelect` is grouped by. */
export function recordGroups({ columns, grain, bucketOf }: TotalsQuery): string {
  return groupText([...[...columns].map((name) => `r.${name}`), ...(grain === 'none' ? [] : [bucketOf('r.started_at_ms')])]);
}

function groupText(groups: readonly string[]): string {
  return groups.length === 0 ? '' : ` GROUP BY ${groups.join(', ')}`;
}

/** Returns the filter's conditions on the dimensions of calls. */
export function filterOf({ projectIds, keyId, keyIds, modelId, outcome }: UsageFilter, table: 'r' | 's'): Statement {
  const conditions: [string, unknown][] = [];
  if (keyId !== '') conditions.push(['key_id', bytesOf('key', keyId)]);
  if (modelId !== '') conditions.push(['model_id', modelId]);
  if (outcome !== Outcome.OUTCOME_UNSPECIFIED) conditions.push(['outcome', outcome]);
  const lists = [projectsCondition(`${table}.project_id`, projectIds), keysCondition(`${table}.key_id`, keyIds)].filter(
    (list) => list !== undefined,
  );
  return {
    text: conditions.map(([column]) => ` AND ${table}.${column} = ?`).join('') + lists.map(({ text }) => ` AND ${text}`).join(''),
    values: [...conditions.map(([, value]) => value), ...lists.flatMap(({ values }) => values)],
  };
}

/** Returns the condition that a call is of one of these projects; undefined for all projects. */
export function projectsCondition(column: string, projectIds: readonly string[]): Statement | undefined {
  if (projectIds.length === 0) return undefined;
  return { text: `${column} IN (${marks(projectIds)})`, values: projectIds.map((id) => bytesOf('proj', id)) };
}

/** Returns the condition that a call was made with one of these keys; undefined for all keys. */
export function keysCondition(column: string, keyIds: readonly string[]): Statement | undefined {
  if (keyIds.length === 0) return undefined;
  return { text: `${column} IN (${marks(keyIds)})`, values: keyIds.map((id) => bytesOf('key', id)) };
}

/** Converts a row that was read. */
export function groupOf(row: Row, byNumber: ReadonlyMap<number, Series>, columns: ReadonlySet<DimensionColumn>): GroupRow {
  const from = row['series'] === null ? (row as Row & Record<DimensionColumn, unknown>) : byNumber.get(asNumber(row['series']))!;
  const value = (name: DimensionColumn): unknown => (columns.has(name) ? from[name] : null);
  return {
    project_id: value('project_id'),
    key_id: value('key_id'),
    model_id: value('model_id'),
    outcome: value('outcome'),
    bucket: row['bucket'],
    sums: sumsFromRow(row),
  };
}

function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

function rowsOf(tx: PlainTransaction, { text, values }: Statement): Promise<Row[]> {
  return tx.query(text, values);
}
