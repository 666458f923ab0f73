// Compares the sums from which totals are read with the records of a run.
import { type Drift, DriftCheck } from '#proto/metering/v1/metering.js';
import type { Database } from '#kit/db/open.js';
import { quarterMs } from '../rollups/shapes.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import { type Quarter, readPaced, type ReadSides } from '../store/sums/both-sides.js';
import { compareSums, type WrongSum } from '../store/sums/compare-sums.js';
import { compareUnitSums } from '../store/sums/compare-unit-sums.js';
import { hasBacklog } from '../store/sums/rollup-steps.js';
import { recordedCallsAfter } from '../store/reconcile.js';
import { callsPerQuery, examine, type ReconcileDeps } from './examine.js';

/** Maximum number of quarter hours compared per run, or part of one; from more, a random selection is compared, so that each is checked sooner or later. */
const quartersMax = 500;
/** Maximum number of wrong sums that are reported: enough to see what is wrong. */
const wrongMax = 20;

/** The quarter hours in which calls started, each once, by account and start. */
export type QuartersSeen = Map<string, Quarter>;

/** Returns the sums that differ from their records. Accounts with other drifts are left out: there the record is wrong. */
export async function examineSums(seen: QuartersSeen, found: readonly Drift[], deps: ReconcileDeps, signal: AbortSignal): Promise<Drift[]> {
  const pacer = new Pacer(signal);
  const others = new Set(found.map(({ accountId }) => accountId));
  const drifts: Drift[] = [];
  for (const quarter of some([...seen.values()])) {
    await pacer.step();
    if (others.has(quarter.accountId)) continue;
    // Each comparison would read all records that wait to be added; the quarters are left to later runs.
    if (await hasBacklog(deps.db)) break;
    if ((await wrongSums(quarter, deps.db, pacer)).length === 0) continue;
    // Both sides are read twice, because the records of an old quarter may be archived meanwhile.
    const wrong = await wrongSums(quarter, deps.db, pacer);
    if (wrong.length > 0 && (await areRecordsWrong(quarter, deps))) continue;
    for (const { what, stored, expected } of wrong) {
      drifts.push({ check: DriftCheck.DRIFT_CHECK_TOTALS, accountId: quarter.accountId, callId: '', subject: what, stored, expected });
    }
    if (drifts.length >= wrongMax) break;
  }
  return drifts;
}

async function wrongSums(quarter: Quarter, db: Database, pacer: Pacer): Promise<WrongSum[]> {
  const read: ReadSides = (sides) => readPaced(db, quarter, sides, pacer);
  return [...(await compareSums(db, quarter, read)), ...(await compareUnitSums(quarter, read))];
}

/** Reports whether one of the quarter's first records has a drift of its own, for example because it was changed since the run examined it. */
async function areRecordsWrong({ accountId, startMs }: Quarter, deps: ReconcileDeps): Promise<boolean> {
  const calls = await recordedCallsAfter(deps.db, { accountId, fromMs: startMs, untilMs: startMs + quarterMs }, undefined, callsPerQuery);
  return (await examine(calls, deps)).drifts.length > 0;
}

function some(quarters: Quarter[]): Quarter[] {
  if (quarters.length <= quartersMax) return quarters;
  return quarters.filter(() => Math.random() * quarters.length < quartersMax);
}
