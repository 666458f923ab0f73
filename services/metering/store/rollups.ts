// Adding records to the sums that are kept of them, and taking them out again.
import type { PlainTransaction } from '#kit/db/plain-transaction.js';
import { addText, insertText, keyedText, textOfRows } from '#kit/db/sql-text.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';
import { type Dimensions, dimensionsOf, hashOf, placesOf, quarterMs, type Shape } from '../rollups/shapes.js';
import { addSums, noSums, sumColumns, type Sums, sumsFromRow, sumsOfRecords } from '../rollups/sums.js';

const rowsPerStatement = 200;
const knownSeriesMax = 100_000;

const keyColumns = ['account_id', 'part', 'series', 'bucket_ms'] as const;
const seriesColumns = ['account_id', 'dimensions_hash', 'shape', 'series', 'key_id', 'model_id', 'ending'] as const;

const addRowsOn = (engine: 'sqlite' | 'mysql') => addText(engine, 'usage_rollup', keyColumns, sumColumns);
const addRows = { sqlite: addRowsOn('sqlite'), mysql: addRowsOn('mysql') };
const keyed = keyedText(keyColumns);
const deleteEmpty = textOfRows((rows) => `DELETE FROM usage_rollup WHERE ${keyed(rows)} AND calls = 0`);
const keyedId = keyedText(['r.id']);
const quarterOf = `r.started_at_ms - r.started_at_ms % ${quarterMs}`;
const sumQuarters = textOfRows(
  (rows) =>
    `SELECT r.account_id, r.key_id, r.model_id, r.ending, ${quarterOf} AS quarter, ${sumsOfRecords} FROM usage_record r WHERE ${keyedId(rows)} GROUP BY r.account_id, r.key_id, r.model_id, r.ending, ${quarterOf}`,
);
const keyedSeries = keyedText(['account_id', 'dimensions_hash']);
const selectSeries = textOfRows((rows) => `SELECT account_id, dimensions_hash, series FROM usage_series WHERE ${keyedSeries(rows)}`);
const insertSeries = insertText('usage_series', seriesColumns)(1);
const lastSeries = 'SELECT COALESCE(MAX(series), 0) AS last FROM usage_series WHERE account_id = ? AND shape = ?';

/** A series of an account. */
interface AccountSeries extends Dimensions {
  readonly accountId: Buffer;
}

/** Numbers of series, remembered between transactions. They are never changed or removed. */
export class SeriesNumbers {
  private readonly known = new Map<string, number>();

  get(name: string): number | undefined {
    return this.known.get(name);
  }

  /** To be told only after the commit of the transaction that found or made them. */
  learn(numbers: ReadonlyMap<string, number>): void {
    if (this.known.size + numbers.size > knownSeriesMax) this.known.clear();
    for (const [name, series] of numbers) this.known.set(name, series);
  }
}

/**
 * Adds these records to the sums, or with -1 takes them out; the numbers of the series it had to look up. The transaction must hold
 * the row of usage_fold, so that nobody else changes sums meanwhile.
 */
export async function addToRollups(tx: PlainTransaction, ids: readonly Buffer[], sign: 1n | -1n, numbers: SeriesNumbers): Promise<ReadonlyMap<string, number>> {
  const quarters = await sumsOf(tx, ids);
  const all = new Map<string, AccountSeries>();
  for (const { name, series } of quarters.flatMap((quarter) => quarter.series)) all.set(name, series);
  const looked = await numbersOf(tx, [...all].filter(([name]) => numbers.get(name) === undefined));
  const rows = new Map<string, { key: readonly unknown[]; sums: Sums }>();
  for (const { quarter, series, sums } of quarters) {
    for (const { name, series: each } of series) {
      const number = numbers.get(name) ?? looked.get(name)!;
      for (const { part, bucketMs } of placesOf(each.shape, quarter)) {
        const place = `${each.accountId.toString('latin1')} ${part} ${number} ${bucketMs}`;
        const row = rows.get(place) ?? { key: [each.accountId, part, number, bucketMs], sums: noSums() };
        addSums(row.sums, sums);
        rows.set(place, row);
      }
    }
  }
  await add(tx, [...rows.values()], sign);
  return looked;
}

interface QuarterSums {
  readonly quarter: number;
  readonly series: readonly { readonly name: string; readonly series: AccountSeries }[];
  readonly sums: Sums;
}

/** The records summed up as finely as anything is kept. */
async function sumsOf(tx: PlainTransaction, ids: readonly Buffer[]): Promise<QuarterSums[]> {
  const quarters: QuarterSums[] = [];
  for (let start = 0; start < ids.length; start += rowsPerStatement) {
    const part = ids.slice(start, start + rowsPerStatement);
    for (const row of await tx.query(sumQuarters(part.length), part)) {
      const accountId = asBytes(row['account_id']);
      const dimensions = dimensionsOf(asBytes(row['key_id']), asText(row['model_id']), asNumber(row['ending']));
      const series = dimensions.map((each) => ({ name: nameOf(accountId, each), series: { ...each, accountId } }));
      quarters.push({ quarter: asNumber(row['quarter']), series, sums: sumsFromRow(row) });
    }
  }
  return quarters;
}

function nameOf(accountId: Buffer, { shape, keyId, modelId, ending }: Dimensions): string {
  return `${accountId.toString('latin1')}${shape} ${ending} ${keyId.toString('latin1')}${modelId}`;
}

/** The numbers of series, which are made where they are not there yet. */
async function numbersOf(tx: PlainTransaction, wanted: readonly (readonly [string, AccountSeries])[]): Promise<Map<string, number>> {
  const numbers = new Map<string, number>();
  const hashed = new Map(wanted.map(([name, series]) => [series.accountId.toString('hex') + hashOf(series).toString('hex'), { name, series }]));
  const names = [...hashed];
  for (let start = 0; start < names.length; start += rowsPerStatement) {
    const part = names.slice(start, start + rowsPerStatement);
    for (const row of await tx.query(selectSeries(part.length), part.flatMap(([, { series }]) => [series.accountId, hashOf(series)]))) {
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

/** Makes a series; they are numbered from 1 for each account and shape. */
async function make(tx: PlainTransaction, series: AccountSeries, last: Map<string, number>): Promise<number> {
  const { accountId, shape, keyId, modelId, ending } = series;
  const owner = `${accountId.toString('latin1')}${shape}`;
  const before = last.get(owner) ?? (await lastOf(tx, accountId, shape));
  await tx.run(insertSeries, [accountId, hashOf(series), shape, before + 1, keyId, modelId, ending]);
  last.set(owner, before + 1);
  return before + 1;
}

async function lastOf(tx: PlainTransaction, accountId: Buffer, shape: Shape): Promise<number> {
  return asNumber((await tx.query(lastSeries, [accountId, shape]))[0]!['last']);
}

/** In the order of the primary key, which makes the pages of it that are written few. */
async function add(tx: PlainTransaction, rows: { key: readonly unknown[]; sums: Sums }[], sign: 1n | -1n): Promise<void> {
  const inOrder = rows.toSorted((a, b) => compareKeys(a.key, b.key));
  // On SQLite one prepared statement a row costs less than a text of many.
  const perStatement = tx.engine === 'sqlite' ? 1 : rowsPerStatement;
  for (let start = 0; start < inOrder.length; start += perStatement) {
    const part = inOrder.slice(start, start + perStatement);
    await tx.run(addRows[tx.engine](part.length), part.flatMap(({ key, sums }) => [...key, ...sums.map((sum) => sum * sign)]));
    if (sign < 0n) await tx.run(deleteEmpty(part.length), part.flatMap(({ key }) => key));
  }
}

function compareKeys(a: readonly unknown[], b: readonly unknown[]): number {
  const byAccount = (a[0] as Buffer).compare(b[0] as Buffer);
  if (byAccount !== 0) return byAccount;
  for (let index = 1; index < a.length; index += 1) {
    const difference = (a[index] as number) - (b[index] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
