// Adds records to the sums kept of them, and removes them again.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { addText, insertText, keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';
import { type Dimensions, dimensionsOf, hashOf, placesOf, quarterMs, type Shape, shapes } from '../../rollups/shapes.js';
import { addUnits } from './unit-sums.js';
import { sumColumns, type Sums, sumsFromRow, sumsOfRecords } from '../../rollups/sums.js';

const rowsPerStatement = 200;
const knownSeriesMax = 100_000;

const keyColumns = ['account_id', 'part', 'series', 'bucket_ms'] as const;
const seriesColumns = ['account_id', 'dimensions_hash', 'shape', 'series', 'project_id', 'key_id', 'model_id', 'outcome'] as const;

const addRowsOn = (engine: 'sqlite' | 'mysql') => addText(engine, 'usage_sum', keyColumns, sumColumns);
const addRows = { sqlite: addRowsOn('sqlite'), mysql: addRowsOn('mysql') };
const keyed = keyedText(keyColumns);
const deleteEmpty = textOfRows((rows) => `DELETE FROM usage_sum WHERE ${keyed(rows)} AND calls = 0`);
const keyedId = keyedText(['r.id']);
const quarterOf = `r.started_at_ms - r.started_at_ms % ${quarterMs}`;
const sumQuarters = textOfRows(
  (rows) =>
    `SELECT r.account_id, r.project_id, r.key_id, r.model_id, r.outcome, ${quarterOf} AS quarter, COUNT(r.units) AS with_units, ${sumsOfRecords} FROM usage_record r WHERE ${keyedId(rows)} GROUP BY r.account_id, r.project_id, r.key_id, r.model_id, r.outcome, ${quarterOf}`,
);
const keyedSeries = keyedText(['account_id', 'dimensions_hash']);
const selectSeries = textOfRows((rows) => `SELECT account_id, dimensions_hash, series FROM usage_series WHERE ${keyedSeries(rows)}`);
const insertSeries = insertText('usage_series', seriesColumns)(1);
const lastSeries = 'SELECT COALESCE(MAX(series), 0) AS last FROM usage_series WHERE account_id = ? AND shape = ?';

/** A series of an account. */
interface AccountSeries extends Dimensions {
  readonly accountId: Buffer;
}

/** Numbers of the series to which calls belong, in the order of `shapes`, by the calls' dimensions. */
export type SeriesOfCalls = ReadonlyMap<string, readonly number[]>;

/** Caches numbers of series between transactions. They are never changed or removed. */
export class SeriesNumbers {
  private readonly known = new Map<string, readonly number[]>();

  get(name: string): readonly number[] | undefined {
    return this.known.get(name);
  }

  /** Adds numbers. Call it only after the commit of the transaction that found or created them. */
  learn(numbers: SeriesOfCalls): void {
    if (this.known.size + numbers.size > knownSeriesMax) this.known.clear();
    for (const [name, series] of numbers) this.known.set(name, series);
  }
}

/**
 * Adds these records to the sums, or with -1 removes them; returns the numbers of the series it had to look up. The transaction must hold
 * the row of usage_summing, so that no other transaction changes sums meanwhile.
 */
export async function addToRollups(
  tx: PlainTransaction,
  ids: readonly Buffer[],
  sign: 1n | -1n,
  numbers: SeriesNumbers,
): Promise<SeriesOfCalls> {
  const quarters = await sumsOf(tx, ids);
  if (quarters.some(({ hasUnits }) => hasUnits)) await addUnits(tx, ids, sign);
  const looked = await lookUp(
    tx,
    quarters.filter(({ name }) => numbers.get(name) === undefined),
  );
  const accounts = new Map<string, AccountRows>();
  for (const { accountId, name, quarter, sums } of quarters) {
    const account = accountId.toString('latin1');
    const rows = accounts.get(account) ?? new AccountRows(accountId);
    accounts.set(account, rows);
    const series = numbers.get(name) ?? looked.get(name)!;
    for (const [index, shape] of shapes.entries()) {
      for (const { part, bucketMs } of placesOf(shape, quarter)) rows.add(part, series[index]!, bucketMs, sums);
    }
  }
  await add(
    tx,
    [...accounts.values()].toSorted((a, b) => a.accountId.compare(b.accountId)).flatMap((rows) => rows.inOrder()),
    sign,
  );
  return looked;
}

/** Holds what is added to the rows of one account. */
class AccountRows {
  private readonly parts = new Map<number, Map<number, Map<number, Sums>>>();

  constructor(readonly accountId: Buffer) {}

  /** Adds sums to a row. `sums` may be kept, and is not changed. */
  add(part: number, series: number, bucketMs: number, sums: Sums): void {
    const ofPart = within(this.parts, part);
    const ofSeries = within(ofPart, series);
    const before = ofSeries.get(bucketMs);
    // Most rows get the sums of one quarter, which are shared by all of its rows.
    ofSeries.set(bucketMs, before === undefined ? sums : before.map((sum, index) => sum + sums[index]!));
  }

  /** Returns the rows in primary key order, so that few pages of the table are written. */
  inOrder(): { key: readonly unknown[]; sums: Sums }[] {
    return ordered(this.parts).flatMap(([part, ofPart]) =>
      ordered(ofPart).flatMap(([series, ofSeries]) =>
        ordered(ofSeries).map(([bucketMs, sums]) => ({ key: [this.accountId, part, series, bucketMs], sums })),
      ),
    );
  }
}

function within<T>(map: Map<number, Map<number, T>>, key: number): Map<number, T> {
  const there = map.get(key);
  if (there !== undefined) return there;
  const made = new Map<number, T>();
  map.set(key, made);
  return made;
}

function ordered<T>(map: ReadonlyMap<number, T>): [number, T][] {
  return [...map].sort(([a], [b]) => a - b);
}

interface QuarterSums {
  readonly quarter: number;
  readonly accountId: Buffer;
  readonly projectId: Buffer;
  readonly keyId: Buffer;
  readonly modelId: string;
  readonly outcome: number;
  /** The account and dimensions of its calls. */
  readonly name: string;
  readonly sums: Sums;
  /** Some of the calls have units that are not tokens. */
  readonly hasUnits: boolean;
}

/** Sums the records up at the finest granularity that is kept. */
async function sumsOf(tx: PlainTransaction, ids: readonly Buffer[]): Promise<QuarterSums[]> {
  const quarters: QuarterSums[] = [];
  for (let start = 0; start < ids.length; start += rowsPerStatement) {
    const part = ids.slice(start, start + rowsPerStatement);
    for (const row of await tx.query(sumQuarters(part.length), part)) {
      const [accountId, projectId, keyId, modelId, outcome] = [
        asBytes(row['account_id']),
        asBytes(row['project_id']),
        asBytes(row['key_id']),
        asText(row['model_id']),
        asNumber(row['outcome']),
      ];
      const name = `${accountId.toString('latin1')}${projectId.toString('latin1')}${keyId.toString('latin1')}${outcome} ${modelId}`;
      const hasUnits = asNumber(row['with_units']) > 0;
      const quarter = asNumber(row['quarter']);
      quarters.push({ quarter, accountId, projectId, keyId, modelId, outcome, name, sums: sumsFromRow(row), hasUnits });
    }
  }
  return quarters;
}

/** Returns the series of such calls, creating those that do not exist yet. */
async function lookUp(tx: PlainTransaction, unknown: readonly QuarterSums[]): Promise<SeriesOfCalls> {
  const calls = new Map(unknown.map((each) => [each.name, each]));
  const wanted = new Map<string, AccountSeries>();
  const names = new Map<string, string[]>();
  for (const [callName, { accountId, projectId, keyId, modelId, outcome }] of calls) {
    const series = dimensionsOf({ projectId, keyId, modelId, outcome }).map((each) => ({ ...each, accountId }));
    for (const each of series) wanted.set(nameOf(each), each);
    names.set(callName, series.map(nameOf));
  }
  const numbers = await numbersOf(tx, [...wanted]);
  return new Map([...names].map(([callName, series]) => [callName, series.map((name) => numbers.get(name)!)]));
}

function nameOf({ accountId, shape, projectId, keyId, modelId, outcome }: AccountSeries): string {
  return `${accountId.toString('latin1')}${shape} ${outcome} ${projectId.toString('latin1')}${keyId.toString('latin1')}${modelId}`;
}

/** Returns the numbers of series, creating those that do not exist yet. */
async function numbersOf(tx: PlainTransaction, wanted: readonly (readonly [string, AccountSeries])[]): Promise<Map<string, number>> {
  const numbers = new Map<string, number>();
  const hashed = new Map(
    wanted.map(([name, series]) => [series.accountId.toString('hex') + hashOf(series).toString('hex'), { name, series }]),
  );
  const names = [...hashed];
  for (let start = 0; start < names.length; start += rowsPerStatement) {
    const part = names.slice(start, start + rowsPerStatement);
    for (const row of await tx.query(
      selectSeries(part.length),
      part.flatMap(([, { series }]) => [series.accountId, hashOf(series)]),
    )) {
      const hash = asBytes(row['account_id']).toString('hex') + asBytes(row['dimensions_hash']).toString('hex');
      numbers.set(hashed.get(hash)!.name, asNumber(row['series']));
    }
  }
  const last = new Map<string, number>();
  for (const [name, series] of wanted) {
    if (!numbers.has(name)) numbers.set(name, await make(tx, series, last));
  }
  return numbers;
}

/** Returns the numbers of those of an account's series that exist. Reads them a few hundred at a time. */
export async function findSeries(
  db: Database,
  accountId: Buffer,
  wanted: readonly Dimensions[],
): Promise<{ readonly shape: Shape; readonly series: number }[]> {
  const shapeOf = new Map(wanted.map((series) => [hashOf(series).toString('hex'), series.shape]));
  const hashes = [...shapeOf.keys()];
  const found: { shape: Shape; series: number }[] = [];
  for (let start = 0; start < hashes.length; start += rowsPerStatement) {
    const part = hashes.slice(start, start + rowsPerStatement);
    const rows = await db.query(
      selectSeries(part.length),
      part.flatMap((hash) => [accountId, Buffer.from(hash, 'hex')]),
    );
    for (const row of rows)
      found.push({ shape: shapeOf.get(asBytes(row['dimensions_hash']).toString('hex'))!, series: asNumber(row['series']) });
  }
  return found;
}

/** Creates a series; they are numbered from 1 per account and shape. */
async function make(tx: PlainTransaction, series: AccountSeries, last: Map<string, number>): Promise<number> {
  const { accountId, shape, projectId, keyId, modelId, outcome } = series;
  const owner = `${accountId.toString('latin1')}${shape}`;
  const before = last.get(owner) ?? (await lastOf(tx, accountId, shape));
  await tx.run(insertSeries, [accountId, hashOf(series), shape, before + 1, projectId, keyId, modelId, outcome]);
  last.set(owner, before + 1);
  return before + 1;
}

async function lastOf(tx: PlainTransaction, accountId: Buffer, shape: Shape): Promise<number> {
  return asNumber((await tx.query(lastSeries, [accountId, shape]))[0]!['last']);
}

async function add(tx: PlainTransaction, rows: readonly { key: readonly unknown[]; sums: Sums }[], sign: 1n | -1n): Promise<void> {
  // On SQLite one prepared statement per row costs less than a statement for many.
  const perStatement = tx.engine === 'sqlite' ? 1 : rowsPerStatement;
  for (let start = 0; start < rows.length; start += perStatement) {
    const part = rows.slice(start, start + perStatement);
    await tx.run(
      addRows[tx.engine](part.length),
      part.flatMap(({ key, sums }) => [...key, ...(sign < 0n ? sums.map((sum) => -sum) : sums)]),
    );
    if (sign < 0n)
      await tx.run(
        deleteEmpty(part.length),
        part.flatMap(({ key }) => key),
      );
  }
}
