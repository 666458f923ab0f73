// Reads the records of a quarter of an hour together with the sums that should match them, without occupying the process for long.
import { isDeepStrictEqual } from 'node:util';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asNumber } from '#kit/db/values.js';
import type { Pacer } from '#kit/scheduling/pacer.js';
import { quarterMs } from '../../rollups/shapes.js';
import { bytesOf } from '../records/record-rows.js';
import type { Statement } from '../totals/summed-totals.js';

/** A quarter of an hour of an account. */
export interface Quarter {
  readonly accountId: string;
  readonly startMs: number;
}

/** Both sides, as statements whose rows have the same columns. */
export interface BothSides {
  /** The sums, and the records that they do not contain yet. */
  readonly sums: readonly Statement[];
  /** Records of calls that started in this interval. */
  recorded(fromMs: number, untilMs: number): Statement;
}

/** Reads both sides for a comparison. */
export type ReadSides = (sides: BothSides) => Promise<readonly Row[]>;

/** How much is read at a time. */
interface Limits {
  /** Records that are read in one statement. */
  readonly recordsMax: number;
  /** The parts in which a quarter with more records is read. */
  readonly partMs: number;
  /** Values of the statements on sums that are read together: nearly each is a series whose rows are looked up. */
  readonly valuesMax: number;
}

/** SQLite takes about 2 µs for a record or a series. */
const limitsDefault: Limits = { recordsMax: 2000, partMs: 5000, valuesMax: 2000 };

/**
 * Reads both sides. Many records or sums are read a part at a time, with a step of the pacer after each. Returns no rows if the sums changed meanwhile,
 * because calls were recorded.
 */
export async function readPaced(
  db: Database,
  quarter: Quarter,
  sides: BothSides,
  pacer: Pick<Pacer, 'step'>,
  { recordsMax, partMs, valuesMax } = limitsDefault,
): Promise<readonly Row[]> {
  const { accountId, startMs } = quarter;
  const endMs = startMs + quarterMs;
  const some = 'SELECT 1 FROM usage_record WHERE account_id = ? AND started_at_ms >= ? AND started_at_ms < ? LIMIT ?';
  const count = await db.query(`SELECT COUNT(*) AS calls FROM (${some}) r`, [bytesOf('acct', accountId), startMs, endMs, recordsMax + 1]);
  const groups = groupsOf(sides.sums, valuesMax);
  if (asNumber(count[0]!['calls']) <= recordsMax && groups.length <= 1) return readAtOnce(db, quarter, sides);
  const readSums = async (): Promise<Row[]> => {
    const rows: Row[] = [];
    for (const [index, group] of groups.entries()) {
      if (index > 0) await pacer.step();
      rows.push(...(await readTogether(db, group)));
    }
    return rows;
  };
  const sums = await readSums();
  const rows = [...sums];
  for (let fromMs = startMs; fromMs < endMs; fromMs += partMs) {
    rows.push(...(await readTogether(db, [sides.recorded(fromMs, fromMs + partMs)])));
    await pacer.step();
  }
  return isDeepStrictEqual(await readSums(), sums) ? rows : [];
}

/** Divides statements into groups with about this many values. */
function groupsOf(statements: readonly Statement[], valuesMax: number): Statement[][] {
  const groups: Statement[][] = [];
  let values = 0;
  for (const statement of statements) {
    if (groups.length === 0 || values + statement.values.length > valuesMax) {
      groups.push([]);
      values = 0;
    }
    groups.at(-1)!.push(statement);
    values += statement.values.length;
  }
  return groups;
}

/** Reads both sides with one statement, at one instant. */
export function readAtOnce(db: Database, { startMs }: Quarter, { sums, recorded }: BothSides): Promise<readonly Row[]> {
  return readTogether(db, [...sums, recorded(startMs, startMs + quarterMs)]);
}

function readTogether(db: Database, statements: readonly Statement[]): Promise<readonly Row[]> {
  const text = statements.map((statement) => statement.text).join(' UNION ALL ');
  return db.plainTransaction((tx) =>
    tx.query(
      text,
      statements.flatMap(({ values }) => values),
    ),
  );
}
