// GetUsagePerformance: percentiles and shares of the newest calls of a filter.
import type { CallContext } from '#client/call-context.js';
import {
  type GetUsagePerformanceRequest,
  type GetUsagePerformanceResponse,
  PerformanceGroupBy as By,
} from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireThat } from '../requests/validate-call.js';
import { validateFilter } from '../requests/validate-filter.js';
import { measureRecords } from '../store/totals/performance.js';

/** Raises invalid_request for a malformed filter or grouping. */
export async function getUsagePerformance(
  { filter, groupBy }: GetUsagePerformanceRequest,
  _context: CallContext,
  { db }: RpcDeps,
): Promise<GetUsagePerformanceResponse> {
  const isKnown = groupBy === By.PERFORMANCE_GROUP_BY_MODEL || groupBy === By.PERFORMANCE_GROUP_BY_UPSTREAM;
  requireThat(isKnown, 'group_by', 'must be a known grouping');
  return measureRecords(db, validateFilter(filter), groupBy === By.PERFORMANCE_GROUP_BY_MODEL ? 'model_id' : 'upstream_id');
}
