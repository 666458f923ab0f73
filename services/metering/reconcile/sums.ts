// Compares the sums that totals are read from with the records of a run.
import { type Drift, DriftCheck } from '#proto/metering/v1/metering.js';
import { quarterMs } from '../rollups/shapes.js';
import { compareSums, type Quarter } from '../store/compare-sums.js';
import { recordedCallsAfter } from '../store/reconcile.js';
import { callsPerLook, examine, type ReconcileDeps } from './examine.js';

/** Of one run, or one part of one; with more, they are chosen by chance, so that each has its turn sooner or later. */
const quartersMax = 500;
/** Enough to see what is wrong. */
const wrongMax = 20;

/** Quarters of an hour in which calls started, each once, by account and start. */
export type QuartersSeen = Map<string, Quarter>;

/** Sums that are not those of their records. Accounts with other drifts are left out: what is wrong there is a record. */
export async function examineSums(seen: QuartersSeen, found: readonly Drift[], deps: ReconcileDeps): Promise<Drift[]> {
  const others = new Set(found.map(({ accountId }) => accountId));
  const drifts: Drift[] = [];
  for (const quarter of some([...seen.values()])) {
    if (others.has(quarter.accountId)) continue;
    const wrong = await compareSums(deps.db, quarter);
    if (wrong.length > 0 && (await areRecordsWrong(quarter, deps))) continue;
    for (const { what, stored, expected } of wrong) {
      drifts.push({ check: DriftCheck.DRIFT_CHECK_TOTALS, accountId: quarter.accountId, callId: '', subject: what, stored, expected });
    }
    if (drifts.length >= wrongMax) break;
  }
  return drifts;
}

/** Whether one of its first records was changed since the run looked at it. */
async function areRecordsWrong({ accountId, startMs }: Quarter, deps: ReconcileDeps): Promise<boolean> {
  const calls = await recordedCallsAfter(deps.db, { accountId, fromMs: startMs, untilMs: startMs + quarterMs }, undefined, callsPerLook);
  return (await examine(calls, deps)).drifts.length > 0;
}

function some(quarters: Quarter[]): Quarter[] {
  if (quarters.length <= quartersMax) return quarters;
  return quarters.filter(() => Math.random() * quarters.length < quartersMax);
}
