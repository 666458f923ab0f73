// Checks whether the sums of units that are not tokens in a quarter of an hour match its records.
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import type { UnitTotal } from '#proto/metering/v1/metering.js';
import { quarterMs } from '../../rollups/shapes.js';
import type { Quarter, ReadSides } from './both-sides.js';
import type { WrongSum } from './compare-sums.js';
import { bytesOf } from '../records/record-rows.js';
import { Phase } from './rollup-steps.js';
import { unitsOf } from './unit-sums.js';

const groups = 'r.project_id, r.key_id, r.model_id, r.outcome, r.units, r.free';
const recordsIn = 'r.account_id = ? AND r.started_at_ms >= ? AND r.started_at_ms < ? AND r.units IS NOT NULL';
const ofRecords = (name: string, from: string, where: string): string =>
  `SELECT '${name}' AS name, ${groups}, NULL AS unit, COUNT(*) AS quantity, 0 AS charge_nano_usd FROM ${from} WHERE ${where} GROUP BY ${groups}`;
const phaseText =
  "SELECT 'phase' AS name, NULL AS project_id, NULL AS key_id, NULL AS model_id, phase AS outcome, NULL AS units, 0 AS free, NULL AS unit," +
  ' 0 AS quantity, 0 AS charge_nano_usd FROM usage_summing';
const keptText =
  "SELECT 'kept' AS name, s.project_id, s.key_id, s.model_id, s.outcome, NULL AS units, 0 AS free, s.unit, s.quantity, s.charge_nano_usd" +
  ' FROM usage_unit_sum s WHERE s.account_id = ? AND s.quarter_ms = ?';
const recordedText = ofRecords('recorded', 'usage_record r', recordsIn);
const waitingText = ofRecords(
  'waiting',
  'usage_unfolded u CROSS JOIN usage_record r ON r.id = u.id',
  recordsIn.replaceAll('r.account_id', 'u.account_id'),
);

/** Returns the first sum of each unit that differs, by count or charge; none while they are being rebuilt. */
export async function compareUnitSums({ accountId, startMs }: Quarter, read: ReadSides): Promise<WrongSum[]> {
  const account = bytesOf('acct', accountId);
  const rows = await read({
    sums: [
      { text: phaseText, values: [] },
      { text: keptText, values: [account, startMs] },
      { text: waitingText, values: [account, startMs, startMs + quarterMs] },
    ],
    recorded: (fromMs, untilMs) => ({ text: recordedText, values: [account, fromMs, untilMs] }),
  });
  if (!rows.some((row) => row['name'] === 'phase' && asNumber(row['outcome']) === Phase.complete)) return [];
  const sums = new Map<string, { readonly unit: string; readonly stored: Sum; readonly expected: Sum }>();
  for (const row of rows) {
    for (const { unit, quantity, chargeNanoUsd } of totalsOf(row)) {
      const ids = [row['project_id'], row['key_id']].map((id) => asBytes(id).toString('hex'));
      const name = [...ids, asNumber(row['outcome']), unit, asText(row['model_id'])].join(' ');
      const sum = sums.get(name) ?? { unit, stored: { quantity: 0n, charge: 0n }, expected: { quantity: 0n, charge: 0n } };
      sums.set(name, sum);
      const side = row['name'] === 'kept' ? sum.stored : sum.expected;
      side.quantity += quantity;
      side.charge += chargeNanoUsd;
    }
  }
  const inQuarter = `in the quarter from ${new Date(startMs).toISOString()}`;
  const wrong = new Map<string, WrongSum>();
  for (const { unit, stored, expected } of sums.values()) {
    for (const field of ['quantity', 'charge'] as const) {
      if (stored[field] === expected[field]) continue;
      const what = `sum of ${field === 'charge' ? 'the charge of ' : ''}the unit ${unit} ${inQuarter}`;
      if (!wrong.has(what)) wrong.set(what, { what, stored: stored[field], expected: expected[field] });
    }
  }
  return [...wrong.values()];
}

interface Sum {
  quantity: bigint;
  charge: bigint;
}

function totalsOf(row: Row): UnitTotal[] {
  const quantity = asBigInt(row['quantity']);
  if (row['name'] === 'kept') return [{ unit: asText(row['unit']), quantity, chargeNanoUsd: asBigInt(row['charge_nano_usd']) }];
  if (row['name'] === 'phase') return [];
  return unitsOf(row, row['name'] === 'waiting' ? -quantity : quantity);
}
