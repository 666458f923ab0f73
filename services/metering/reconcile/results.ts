// The results of the reconcile job's runs, and what is currently wrong according to all of them. Pure.
import { type Drift, DriftCheck, Reconciliation } from '#proto/metering/v1/metering.js';
import type { RunState } from '../store/reconcile-state.js';
import { distinct } from './judge.js';

/** Maximum number of drifts that a run lists: enough to see what is wrong, however many there are. */
export const driftsMax = 100;
/** Maximum number of accounts whose books are rebuilt at every recent run while they are wrong. */
export const wrongBooksMax = 10;

/** Holds the last finished run of each kind; undefined before the first. */
export interface Results {
  readonly recent: Reconciliation | undefined;
  readonly full: Reconciliation | undefined;
}

export const noResults: Results = { recent: undefined, full: undefined };

/** Returns the results among the states of runs. */
export function resultsOf(runs: readonly RunState[]): Results {
  const of = (name: RunState['name']): Reconciliation | undefined => {
    const run = runs.find((each) => each.name === name);
    return run === undefined || run.result.length === 0 ? undefined : Reconciliation.decode(run.result);
  };
  return { recent: of('recent'), full: of('full') };
}

/** Returns the accounts whose books the last full run found wrong. */
export function wrongBooks({ full }: Results): string[] {
  return [...new Set((full?.drifts ?? []).filter(({ check }) => check === DriftCheck.DRIFT_CHECK_BOOKS).map(({ accountId }) => accountId))];
}

/** Returns the drifts that a run lists. Those of the books come first, so that however many others there are, wrong books are seen. */
export function listed(found: readonly Drift[]): Drift[] {
  const isOther = ({ check }: Drift): number => Number(check !== DriftCheck.DRIFT_CHECK_BOOKS);
  return distinct(found)
    .toSorted((one, other) => isOther(one) - isOther(other))
    .slice(0, driftsMax);
}

/** Returns all known drifts. A recent run has rechecked the drifts of runs that finished before it started. */
export function currentDrifts(results: Results): Drift[] {
  const { recent, full } = results;
  if (recent === undefined || full === undefined || recent.startedAtMs <= full.finishedAtMs)
    return distinct([...(full?.drifts ?? []), ...(recent?.drifts ?? [])]);
  const books = wrongBooks(results).length > wrongBooksMax ? full.drifts.filter(({ check }) => check === DriftCheck.DRIFT_CHECK_BOOKS) : [];
  return distinct([...recent.drifts, ...books]);
}
