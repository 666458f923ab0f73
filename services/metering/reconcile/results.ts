// What the runs of the reconcile job found, and what is wrong now by all of them. Pure.
import { type Drift, DriftCheck, Reconciliation } from '#proto/metering/v1/metering.js';
import type { RunState } from '../store/reconcile-state.js';
import { distinct } from './judge.js';

/** Most drifts that a run lists: enough to see what is wrong, however much is. */
export const driftsMax = 100;
/** Accounts whose books are rebuilt again at every recent run while they are wrong. */
export const wrongBooksMax = 10;

/** The last finished run of each kind; undefined before the first. */
export interface Results {
  readonly recent: Reconciliation | undefined;
  readonly full: Reconciliation | undefined;
}

export const noResults: Results = { recent: undefined, full: undefined };

/** The results among the states of runs. */
export function resultsOf(runs: readonly RunState[]): Results {
  const of = (name: RunState['name']): Reconciliation | undefined => {
    const run = runs.find((each) => each.name === name);
    return run === undefined || run.result.length === 0 ? undefined : Reconciliation.decode(run.result);
  };
  return { recent: of('recent'), full: of('full') };
}

/** Accounts whose books were found wrong by the last full run. */
export function wrongBooks({ full }: Results): string[] {
  return [...new Set((full?.drifts ?? []).filter(({ check }) => check === DriftCheck.DRIFT_CHECK_BOOKS).map(({ accountId }) => accountId))];
}

/** All that is wrong as far as the runs know. A recent run has looked again at what those before it found. */
export function currentDrifts(results: Results): Drift[] {
  const { recent, full } = results;
  if (recent === undefined || full === undefined || recent.finishedAtMs <= full.finishedAtMs)
    return distinct([...(full?.drifts ?? []), ...(recent?.drifts ?? [])]);
  const books = wrongBooks(results).length > wrongBooksMax ? full.drifts.filter(({ check }) => check === DriftCheck.DRIFT_CHECK_BOOKS) : [];
  return distinct([...recent.drifts, ...books]);
}
