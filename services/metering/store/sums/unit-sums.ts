// Adds the units of records that are not tokens to the sums kept of them, and removes them again. Calls without such units cost nothing here.
import type { PlainTransaction, Row } from '#kit/db/plain/plain-transaction.js';
import { addText, keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { asNumber, asText } from '#kit/db/values.js';
import type { UnitTotal } from '#proto/metering/v1/metering.js';
import { quarterMs } from '../../rollups/shapes.js';
import { unitsOfText } from '../records/unit-text.js';

const rowsPerStatement = 200;

const keyColumns = ['account_id', 'quarter_ms', 'project_id', 'key_id', 'model_id', 'outcome', 'unit'] as const;
const addRowsOn = (engine: 'sqlite' | 'mysql') => addText(engine, 'usage_unit_sum', keyColumns, ['quantity', 'charge_nano_usd']);
const addRows = { sqlite: addRowsOn('sqlite'), mysql: addRowsOn('mysql') };
const keyed = keyedText(keyColumns);
const deleteEmpty = textOfRows((rows) => `DELETE FROM usage_unit_sum WHERE ${keyed(rows)} AND quantity = 0`);
const keyedId = keyedText(['r.id']);
const selectUnits = textOfRows(
  (rows) =>
    `SELECT r.account_id, r.started_at_ms - r.started_at_ms % ${quarterMs} AS quarter_ms, r.project_id, r.key_id, r.model_id, r.outcome, r.units, r.free` +
    ` FROM usage_record r WHERE ${keyedId(rows)} AND r.units IS NOT NULL`,
);
const firstAccount = 'SELECT account_id FROM usage_unit_sum LIMIT 1';
const deleteAccount = 'DELETE FROM usage_unit_sum WHERE account_id = ?';

/** Adds the units of these records to the sums, or with -1 removes them. */
export async function addUnits(tx: PlainTransaction, ids: readonly Buffer[], sign: 1n | -1n): Promise<void> {
  const sums = new Map<string, { key: unknown[]; quantity: bigint; chargeNanoUsd: bigint }>();
  for (let start = 0; start < ids.length; start += rowsPerStatement) {
    const part = ids.slice(start, start + rowsPerStatement);
    for (const row of await tx.query(selectUnits(part.length), part)) {
      for (const { unit, quantity, chargeNanoUsd } of unitsOf(row, 1n)) {
        const key = keyColumns.map((column) => (column === 'unit' ? unit : row[column]));
        const name = key.map((value) => (Buffer.isBuffer(value) ? value.toString('hex') : String(value))).join(' ');
        const sum = sums.get(name) ?? { key, quantity: 0n, chargeNanoUsd: 0n };
        sums.set(name, { key, quantity: sum.quantity + sign * quantity, chargeNanoUsd: sum.chargeNanoUsd + sign * chargeNanoUsd });
      }
    }
  }
  // In key order, as all sums are.
  const rows = [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum);
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    const part = rows.slice(start, start + rowsPerStatement);
    await tx.run(
      addRows[tx.engine](part.length),
      part.flatMap(({ key, quantity, chargeNanoUsd }) => [...key, quantity, chargeNanoUsd]),
    );
    if (sign < 0n)
      await tx.run(
        deleteEmpty(part.length),
        part.flatMap(({ key }) => key),
      );
  }
}

/** Removes the sums of one account. Returns false when there is none left. */
export async function clearUnits(tx: PlainTransaction): Promise<boolean> {
  const [first] = await tx.query(firstAccount, []);
  if (first !== undefined) await tx.run(deleteAccount, [first['account_id']]);
  return first !== undefined;
}

/** Returns what this many calls with the units of a row used and cost. */
export function unitsOf(row: Row, calls: bigint): UnitTotal[] {
  const { prices, counts } = unitsOfText(asText(row['units']));
  const isFree = asNumber(row['free']) === 1;
  return (counts?.counts ?? []).map(({ unit, count }) => {
    const price = isFree ? 0n : prices.find((each) => each.unit === unit)!.nanoUsd;
    return { unit, quantity: BigInt(count) * calls, chargeNanoUsd: BigInt(count) * price * calls };
  });
}
