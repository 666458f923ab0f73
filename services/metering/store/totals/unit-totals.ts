// Sums over units that are not tokens, from the kept sums, from records that are not in them yet, and from records at the edges of the requested
// period.
import type { PlainTransaction, Row } from '#kit/db/plain/plain-transaction.js';
import { asBigInt, asText } from '#kit/db/values.js';
import type { UnitTotal } from '#proto/metering/v1/metering.js';
import { quarterMs } from '../../rollups/shapes.js';
import { bytesOf } from '../records/record-rows.js';
import { filterOf, type TotalsQuery, recordGroups, type Statement } from './summed-totals.js';
import { unitsOf } from '../sums/unit-sums.js';

/** Holds sums of one group; what is not grouped by is null. */
export interface UnitGroup extends UnitTotal {
  readonly row: Row;
}

/** Returns the sums of each group. `isSummed`: whether the stored sums are complete; otherwise records are read. */
export async function readUnits(tx: PlainTransaction, query: TotalsQuery, isSummed: boolean): Promise<UnitGroup[]> {
  const { text, values } = isSummed ? summed(query) : recordsOf(query, 'all', Number(query.filter.fromMs), Number(query.filter.untilMs));
  return (await tx.query(text, values)).flatMap((row) => {
    if (row['units'] === null)
      return [{ row, unit: asText(row['unit']), quantity: asBigInt(row['quantity']), chargeNanoUsd: asBigInt(row['charge_nano_usd']) }];
    return unitsOf(row, asBigInt(row['quantity'])).map((total) => ({ row, ...total }));
  });
}

/** Returns one statement, and so one instant, for the sums of whole quarters, the records at the edges, and the records that are not in the sums yet. */
function summed(query: TotalsQuery): Statement {
  const { filter, bucketOf, grain } = query;
  const account = bytesOf('acct', filter.accountId);
  const [fromMs, untilMs] = [Number(filter.fromMs), Number(filter.untilMs) || Number.MAX_SAFE_INTEGER];
  const first = Math.ceil(fromMs / quarterMs) * quarterMs;
  const last = Math.max(first, Math.floor(untilMs / quarterMs) * quarterMs);
  const { text, values } = filterOf(filter, 's');
  const bucket = grain === 'none' ? 'NULL' : bucketOf('s.quarter_ms');
  const dimensions = dimensionsOf(query, 's');
  const groups = [...[...query.columns].map((name) => `s.${name}`), ...(grain === 'none' ? [] : [bucket]), 's.unit'];
  const kept = {
    text:
      `SELECT ${dimensions}, ${bucket} AS bucket, s.unit AS unit, SUM(s.quantity) AS quantity, SUM(s.charge_nano_usd) AS charge_nano_usd, NULL AS units, NULL AS free` +
      ` FROM usage_unit_sum s WHERE s.account_id = ? AND s.quarter_ms >= ? AND s.quarter_ms < ?${text} GROUP BY ${groups.join(', ')}`,
    values: [account, first, last, ...values],
  };
  const members = [
    kept,
    recordsOf(query, 'pending', fromMs, untilMs),
    ...(fromMs < first ? [recordsOf(query, 'not pending', fromMs, Math.min(first, untilMs))] : []),
    ...(Math.max(first, last) < untilMs && last >= first && filter.untilMs > 0n ? [recordsOf(query, 'not pending', last, untilMs)] : []),
  ];
  return { text: members.map((member) => member.text).join(' UNION ALL '), values: members.flatMap((member) => member.values) };
}

/** Returns a statement that groups the records of a period by their units: records with the same price and the same counts are one row. */
function recordsOf(query: TotalsQuery, which: 'all' | 'pending' | 'not pending', fromMs: number, untilMs: number): Statement {
  const { filter, bucketOf, grain } = query;
  const { text, values } = filterOf(filter, 'r');
  const isPending = which === 'pending';
  // As in the statement of the other sums: in this order, and not by the index of the period.
  const from = isPending ? 'usage_unfolded u CROSS JOIN usage_record r ON r.id = u.id' : 'usage_record r';
  const startedAt = isPending ? 'r.started_at_ms + 0' : 'r.started_at_ms';
  const conditions: [string, unknown][] = [];
  if (filter.accountId !== '') conditions.push([` AND ${isPending ? 'u' : 'r'}.account_id = ?`, bytesOf('acct', filter.accountId)]);
  if (fromMs > 0) conditions.push([` AND ${startedAt} >= ?`, fromMs]);
  if (untilMs > 0 && untilMs < Number.MAX_SAFE_INTEGER) conditions.push([` AND ${startedAt} < ?`, untilMs]);
  const condition = which === 'not pending' ? ' AND NOT EXISTS (SELECT 1 FROM usage_unfolded u WHERE u.id = r.id)' : '';
  const bucket = grain === 'none' ? 'NULL' : bucketOf('r.started_at_ms');
  const groups = recordGroups(query);
  return {
    text:
      `SELECT ${dimensionsOf(query, 'r')}, ${bucket} AS bucket, NULL AS unit, COUNT(*) AS quantity, NULL AS charge_nano_usd, r.units AS units, r.free AS free` +
      ` FROM ${from} WHERE r.units IS NOT NULL${conditions.map(([part]) => part).join('')}${text}${condition}` +
      `${groups === '' ? ' GROUP BY ' : `${groups}, `}r.units, r.free`,
    values: [...conditions.map(([, value]) => value), ...values],
  };
}

function dimensionsOf({ columns }: TotalsQuery, table: 'r' | 's'): string {
  const names = ['project_id', 'key_id', 'model_id', 'outcome'] as const;
  return names.map((name) => (columns.has(name) ? `${table}.${name} AS ${name}` : `NULL AS ${name}`)).join(', ');
}

/** Adds to the sums of one group, by unit. */
export function addUnit(sums: Map<string, UnitTotal>, { unit, quantity, chargeNanoUsd }: UnitTotal): void {
  const sum = sums.get(unit);
  sums.set(unit, { unit, quantity: quantity + (sum?.quantity ?? 0n), chargeNanoUsd: chargeNanoUsd + (sum?.chargeNanoUsd ?? 0n) });
}

/** Returns the sums of one group in the order of the names of their units. */
export function unitTotals(sums: ReadonlyMap<string, UnitTotal>): UnitTotal[] {
  return [...sums.values()].filter(({ quantity }) => quantity > 0n).toSorted((one, other) => (one.unit < other.unit ? -1 : 1));
}
