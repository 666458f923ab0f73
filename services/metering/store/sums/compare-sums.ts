// Checks whether the sums of a quarter of an hour, and those that contain it, match the records. An account may have very many series, most of which
// have no calls in the quarter: those of its records are compared, and a few others.
import { isDeepStrictEqual } from 'node:util';
import { dayMs, hourMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';
import {
  blockMs,
  blocksOf,
  dimensionsOf,
  hasHours,
  hasSpans,
  hoursOf,
  quarterMs,
  quartersOf,
  Shape,
  shapes,
  spanMs,
  spansOf,
} from '../../rollups/shapes.js';
import { addSums, noSums, sumColumns, type Sums, sumsFromRow, sumsOfRecords, sumsOfRollups } from '../../rollups/sums.js';
import { Phase } from './rollup-steps.js';
import { bytesOf } from '../records/record-rows.js';
import type { Statement } from '../totals/summed-totals.js';
import type { Quarter, ReadSides } from './both-sides.js';
import { findSeries } from './rollups.js';

/** Holds sums that differ. */
export interface WrongSum {
  /** A human-readable description. */
  readonly what: string;
  readonly stored: bigint;
  readonly expected: bigint;
}

/** All series of a shape are compared if there are at most this many; of more, those of the records, and a few others that are chosen at random. */
const seriesMax = 50;
const othersMax = 10;
/** Per part of a statement: MariaDB's plan for lists above a thousand changes. */
const seriesPerPart = 500;
/** Attempts while calls of new series are recorded; afterwards the quarter is left to a later run. */
const triesMax = 3;

const lastNumbers = `SELECT ${shapes
  .map((shape) => `(SELECT COALESCE(MAX(series), 0) FROM usage_series WHERE account_id = ? AND shape = ${shape}) AS last${shape}`)
  .join(', ')}`;
const recordsIn = 'r.account_id = ? AND r.started_at_ms >= ? AND r.started_at_ms < ?';

/** Where sums are kept that differ in the length of their buckets. */
type Level = 'quarters' | 'hours' | 'blocks' | 'spans';

/** Holds which series an account has. */
interface SeriesOfAccount {
  /** The number of the last series of each shape; 0 if there is none. */
  readonly last: ReadonlyMap<Shape, number>;
  /** The numbers of the series to which the quarter's records belong, of the shapes with more than a few. */
  readonly ofRecords: ReadonlyMap<Shape, ReadonlySet<number>>;
}

/** Returns the sums that differ; none while they are being rebuilt. */
export async function compareSums(db: Database, quarter: Quarter, read: ReadSides, allMax = seriesMax): Promise<WrongSum[]> {
  let series = await seriesOf(db, quarter, read, allMax);
  for (let tries = 0; tries < triesMax; tries += 1) {
    const wrong = await compareSeries(quarter, read, series, allMax);
    if (wrong.length === 0) return [];
    const before = series;
    series = await seriesOf(db, quarter, read, allMax);
    // Otherwise, the sums may contain calls of series that were not read.
    if (isDeepStrictEqual(series, before)) return wrong;
  }
  return [];
}

async function compareSeries(
  { accountId, startMs }: Quarter,
  read: ReadSides,
  { last, ofRecords }: SeriesOfAccount,
  allMax: number,
): Promise<WrongSum[]> {
  const account = bytesOf('acct', accountId);
  const block = startMs - (startMs % blockMs);
  const span = startMs - (startMs % spanMs);
  const hour = startMs - (startMs % hourMs);
  const blockOfDay = (block % dayMs) / blockMs;
  const isWhole = (shape: Shape): boolean => last.get(shape)! <= allMax;
  const sums: Statement[] = [
    {
      text: `SELECT 'phase' AS name, phase AS shape, 0 AS bucket, ${sumColumns.map((column) => `0 AS ${column}`).join(', ')} FROM usage_summing`,
      values: [],
    },
    recordSums(
      'waiting',
      'usage_unfolded u CROSS JOIN usage_record r ON r.id = u.id',
      'u.account_id = ? AND r.started_at_ms + 0 >= ? AND r.started_at_ms + 0 < ?',
      [account, startMs, startMs + quarterMs],
    ),
  ];
  for (const shape of shapes) {
    const list = isWhole(shape)
      ? upTo(1, last.get(shape)!)
      : [...ofRecords.get(shape)!.union(new Set(chooseSeries(last.get(shape)!, Math.min(othersMax, allMax))))];
    const add = (level: Level, part: number, fromMs: number, untilMs: number): void => {
      for (let start = 0; start < list.length; start += seriesPerPart)
        sums.push(keptSums(level, shape, [account, part, fromMs, untilMs], list.slice(start, start + seriesPerPart)));
    };
    add('quarters', quartersOf(shape, blockOfDay), block, block + blockMs);
    // The blocks of a span show whether it is correct.
    if (hasSpans(shape) || shape === Shape.account) add('blocks', blocksOf(shape), span, span + spanMs);
    else add('blocks', blocksOf(shape), block, block + blockMs);
    if (hasHours(shape)) add('hours', hoursOf(shape, blockOfDay), hour, hour + hourMs);
    if (hasSpans(shape)) add('spans', spansOf(shape), span, span + spanMs);
  }
  const recorded = (fromMs: number, untilMs: number): Statement =>
    recordSums('recorded', 'usage_record r', recordsIn, [account, fromMs, untilMs]);
  const rows = await read({ sums, recorded });
  const found = rows.map((row) => ({
    name: asText(row['name']),
    shape: asNumber(row['shape']),
    bucketMs: asNumber(row['bucket']),
    sums: sumsFromRow(row),
  }));
  if (found.find(({ name }) => name === 'phase')?.shape !== Phase.complete) return [];
  const total = (of: string, ofShape: Shape, fromMs: number, lengthMs: number): Sums => {
    const total = noSums();
    for (const { name, shape, bucketMs, sums: part } of found)
      if (name === of && shape === ofShape && bucketMs >= fromMs && bucketMs < fromMs + lengthMs) addSums(total, part);
    return total;
  };
  const inQuarter = total('recorded', 0, 0, 1);
  addSums(
    inQuarter,
    total('waiting', 0, 0, 1).map((sum) => -sum),
  );
  // All series of a shape have the sums of the account; some of them only their own.
  const finer = (level: Level, shape: Shape, fromMs: number, lengthMs: number): Sums =>
    total(level, isWhole(shape) ? Shape.account : shape, fromMs, lengthMs);
  const places: {
    name: string;
    level: Level;
    fromMs: number;
    lengthMs: number;
    ofShapes: readonly Shape[];
    expected(shape: Shape): Sums;
  }[] = [
    { name: 'quarter', level: 'quarters', fromMs: startMs, lengthMs: quarterMs, ofShapes: shapes, expected: () => inQuarter },
    {
      name: 'block',
      level: 'blocks',
      fromMs: block,
      lengthMs: blockMs,
      ofShapes: shapes,
      expected: (shape) => finer('quarters', shape, block, blockMs),
    },
    {
      name: 'hour',
      level: 'hours',
      fromMs: hour,
      lengthMs: hourMs,
      ofShapes: shapes.filter(hasHours),
      expected: (shape) => finer('quarters', shape, hour, hourMs),
    },
    {
      name: 'span',
      level: 'spans',
      fromMs: span,
      lengthMs: spanMs,
      ofShapes: shapes.filter(hasSpans),
      expected: (shape) => finer('blocks', shape, span, spanMs),
    },
  ];
  return places.flatMap(({ name, level, fromMs, lengthMs, ofShapes, expected }) =>
    ofShapes.flatMap((shape) => {
      const stored = total(level, shape, fromMs, lengthMs);
      const right = expected(shape);
      const wrong = right.findIndex((sum, index) => sum !== stored[index]);
      if (wrong === -1) return [];
      const what = `sum of ${sumColumns[wrong]} by ${Shape[shape]} in the ${name} from ${new Date(fromMs).toISOString()}`;
      return [{ what, stored: stored[wrong]!, expected: right[wrong]! }];
    }),
  );
}

/** Reads which series the account has; of the shapes with more than `allMax`, those of the quarter's records. */
async function seriesOf(db: Database, { accountId }: Quarter, read: ReadSides, allMax: number): Promise<SeriesOfAccount> {
  const account = bytesOf('acct', accountId);
  const [numbers] = await db.query(
    lastNumbers,
    shapes.map(() => account),
  );
  const last = new Map(shapes.map((shape) => [shape, asNumber(numbers![`last${shape}`])]));
  const large = shapes.filter((shape) => last.get(shape)! > allMax);
  if (large.length === 0) return { last, ofRecords: new Map() };
  const rows = await read({
    sums: [],
    recorded: (fromMs, untilMs) => ({
      text: `SELECT DISTINCT r.project_id, r.key_id, r.model_id, r.outcome FROM usage_record r WHERE ${recordsIn}`,
      values: [account, fromMs, untilMs],
    }),
  });
  const wanted = rows.flatMap(callsOf).flatMap(dimensionsOf);
  const ofRecords = new Map(large.map((shape) => [shape, new Set<number>()]));
  for (const { shape, series } of await findSeries(
    db,
    account,
    wanted.filter(({ shape }) => large.includes(shape)),
  ))
    ofRecords.get(shape)!.add(series);
  return { last, ofRecords };
}

function callsOf(row: Row): { projectId: Buffer; keyId: Buffer; modelId: string; outcome: number } {
  return {
    projectId: asBytes(row['project_id']),
    keyId: asBytes(row['key_id']),
    modelId: asText(row['model_id']),
    outcome: asNumber(row['outcome']),
  };
}

/** Chooses up to `count` of the series 1 to `last` at random, all with the same probability: successive numbers, and 1 follows `last`. */
export function chooseSeries(last: number, count: number): number[] {
  const first = Math.floor(Math.random() * last);
  return Array.from({ length: Math.min(last, count) }, (_, index) => 1 + ((first + index) % last));
}

function upTo(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function recordSums(name: string, from: string, where: string, values: readonly unknown[]): Statement {
  return { text: `SELECT '${name}' AS name, 0 AS shape, 0 AS bucket, ${sumsOfRecords} FROM ${from} WHERE ${where}`, values };
}

/** Looks rows up series by series, since those of one instant are not stored together. */
function keptSums(level: Level, shape: Shape, [account, part, fromMs, untilMs]: readonly unknown[], series: readonly number[]): Statement {
  // Lists of few lengths, so that the statements are found prepared.
  const list = [...series];
  while (list.length < seriesPerPart && (list.length & (list.length - 1)) !== 0) list.push(series[0]!);
  return {
    text:
      `SELECT '${level}' AS name, ${shape} AS shape, bucket_ms AS bucket, ${sumsOfRollups} FROM usage_sum WHERE account_id = ? AND part = ?` +
      ` AND bucket_ms >= ? AND bucket_ms < ? AND series IN (${list.map(() => '?').join(', ')}) GROUP BY bucket_ms`,
    values: [account, part, fromMs, untilMs, ...list],
  };
}
