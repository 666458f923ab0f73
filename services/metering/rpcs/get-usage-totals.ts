// GetUsageTotals: sums over a filter, grouped.
import type { CallContext } from '#client/call-context.js';
import { GroupBy, type GetUsageTotalsRequest, type GetUsageTotalsResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { type Grouping, sumRecords } from '../store/totals/totals.js';
import { requireOffset, requireThat } from '../requests/validate-call.js';
import { validateFilter } from '../requests/validate-filter.js';

/** Raises invalid_request for a malformed filter or grouping, failed_precondition for more groups than one response may have. */
export async function getUsageTotals(
  request: GetUsageTotalsRequest,
  { signal }: CallContext,
  { db }: RpcDeps,
): Promise<GetUsageTotalsResponse> {
  return { groups: await sumRecords(db, validateFilter(request.filter), validateGrouping(request), signal) };
}

function validateGrouping({ groupBy, thenBy, offsetMinutes }: GetUsageTotalsRequest): Grouping {
  requireThat(isGroupBy(groupBy), 'group_by', 'must be a known grouping');
  requireThat(isGroupBy(thenBy), 'then_by', 'must be a known grouping');
  if (thenBy !== GroupBy.GROUP_BY_UNSPECIFIED) {
    requireThat(groupBy !== GroupBy.GROUP_BY_UNSPECIFIED, 'then_by', 'requires group_by');
    requireThat(thenBy !== groupBy, 'then_by', 'must differ from group_by');
  }
  requireOffset(offsetMinutes);
  return { groupBy, thenBy, offsetMinutes };
}

function isGroupBy(value: GroupBy): boolean {
  return value >= GroupBy.GROUP_BY_UNSPECIFIED && value <= GroupBy.GROUP_BY_PROJECT;
}
