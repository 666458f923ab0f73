// GetReconciliation: the latest results of the reconcile job.
import type { CallContext } from '#client/call-context.js';
import type { GetReconciliationRequest, GetReconciliationResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { currentDrifts, resultsOf } from '../reconcile/results.js';
import { readRuns } from '../store/reconcile-state.js';

/** Returns the results as they are stored, whichever replica executed the runs. */
export async function getReconciliation(
  _request: GetReconciliationRequest,
  _context: CallContext,
  { db }: RpcDeps,
): Promise<GetReconciliationResponse> {
  const results = resultsOf(await readRuns(db));
  return { ...results, drifts: currentDrifts(results) };
}
