// Checks whether the sums of a quarter of an hour, and those that contain it, match the records.
import { dayMs, hourMs } from '#kit/clock.js';
import { asNumber } from '#kit/db/values.js';
import {
  blockMs,
  blocksOf,
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

/** Holds sums that differ. */
export interface WrongSum {
  /** A human-readable description. */
  readonly what: string;
  readonly stored: bigint;
  readonly expected: bigint;
}

/** The account's only series of that shape. */
const accountSeries = 1;

/** Returns the sums that differ; none while they are being rebuilt. */
export async function compareSums({ accountId, startMs }: Quarter, read: ReadSides): Promise<WrongSum[]> {
  const account = bytesOf('acct', accountId);
  const block = startMs - (startMs % blockMs);
  const span = startMs - (startMs % spanMs);
  const hour = startMs - (startMs % hourMs);
  const blockOfDay = (block % dayMs) / blockMs;
  const quarterPart = (shape: Shape): number => quartersOf(shape, blockOfDay);
  const sums = [
    {
      text: `SELECT 'phase' AS name, phase AS shape, ${sumColumns.map((column) => `0 AS ${column}`).join(', ')} FROM usage_summing`,
      values: [],
    },
    ofRecords(
      'waiting',
      'usage_unfolded u CROSS JOIN usage_record r ON r.id = u.id',
      'u.account_id = ? AND r.started_at_ms + 0 >= ? AND r.started_at_ms + 0 < ?',
      [account, startMs, startMs + quarterMs],
    ),
    ofAccount('quarters', account, quarterPart(Shape.account), block, block + blockMs),
    ofAccount('quarters of the hour', account, quarterPart(Shape.account), hour, hour + hourMs),
    ofAccount('blocks', account, blocksOf(Shape.account), span, span + spanMs),
    ...shapes.map((shape) => ofAllSeries('quarter', account, shape, quarterPart(shape), startMs)),
    ...shapes.map((shape) => ofAllSeries('block', account, shape, blocksOf(shape), block)),
    ...shapes.filter(hasHours).map((shape) => ofAllSeries('hour', account, shape, hoursOf(shape, blockOfDay), hour)),
    ...shapes.filter(hasSpans).map((shape) => ofAllSeries('span', account, shape, spansOf(shape), span)),
  ];
  const where = 'r.account_id = ? AND r.started_at_ms >= ? AND r.started_at_ms < ?';
  const recorded = (fromMs: number, untilMs: number): Statement =>
    ofRecords('recorded', 'usage_record r', where, [account, fromMs, untilMs]);
  const rows = await read({ sums, recorded });
  const found = rows.map((row) => ({ name: String(row['name']), shape: asNumber(row['shape']), sums: sumsFromRow(row) }));
  const sumsOf = (name: string): Sums => found.find((each) => each.name === name)?.sums ?? noSums();
  if (found.find(({ name }) => name === 'phase')?.shape !== Phase.complete) return [];
  const inQuarter = noSums();
  for (const { name, sums: ofPart } of found) if (name === 'recorded') addSums(inQuarter, ofPart);
  addSums(
    inQuarter,
    sumsOf('waiting').map((sum) => -sum),
  );
  const starts = new Map([
    ['quarter', startMs],
    ['hour', hour],
    ['block', block],
    ['span', span],
  ]);
  const expected = new Map([
    ['quarter', inQuarter],
    ['hour', sumsOf('quarters of the hour')],
    ['block', sumsOf('quarters')],
    ['span', sumsOf('blocks')],
  ]);
  return found.flatMap(({ name, shape, sums }) => {
    const right = expected.get(name);
    const wrong = right?.findIndex((sum, index) => sum !== sums[index]) ?? -1;
    if (right === undefined || wrong === -1) return [];
    const startsAt = new Date(starts.get(name)!).toISOString();
    return [
      {
        what: `sum of ${sumColumns[wrong]} by ${Shape[shape]} in the ${name} from ${startsAt}`,
        stored: sums[wrong]!,
        expected: right[wrong]!,
      },
    ];
  });
}

function ofRecords(name: string, from: string, where: string, values: readonly unknown[]): Statement {
  return { text: `SELECT '${name}' AS name, 0 AS shape, ${sumsOfRecords} FROM ${from} WHERE ${where}`, values };
}

function ofAccount(name: string, account: Buffer, part: number, fromMs: number, untilMs: number): Statement {
  const where = `account_id = ? AND part = ? AND series = ${accountSeries} AND bucket_ms >= ? AND bucket_ms < ?`;
  return {
    text: `SELECT '${name}' AS name, 0 AS shape, ${sumsOfRollups} FROM usage_sum WHERE ${where}`,
    values: [account, part, fromMs, untilMs],
  };
}

/** Looks rows up series by series, since those of one instant are not stored together. */
function ofAllSeries(name: string, account: Buffer, shape: Shape, part: number, bucketMs: number): Statement {
  return {
    text:
      `SELECT '${name}' AS name, ${shape} AS shape, ${sumsOfRollups} FROM usage_series s CROSS JOIN usage_sum t` +
      ' ON t.account_id = s.account_id AND t.part = ? AND t.series = s.series AND t.bucket_ms = ? WHERE s.account_id = ? AND s.shape = ?',
    values: [part, bucketMs, account, shape],
  };
}
