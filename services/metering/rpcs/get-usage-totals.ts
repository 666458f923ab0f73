// Sums over a filter, grouped.
import type { CallContext } from '#kit/rpc/call-context.js';
import { GroupBy, type GetUsageTotalsRequest, type GetUsageTotalsResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { sumRecords } from '../store/queries.js';
import { requireThat } from '../validate-call.js';
import { validateFilter } from '../validate-filter.js';

/** Raises invalid_request for a malformed filter, failed_precondition for more groups than one answer may have. */
export async function getUsageTotals(request: GetUsageTotalsRequest, _context: CallContext, { db }: RpcDeps): Promise<GetUsageTotalsResponse> {
  const filter = validateFilter(request.filter);
  requireThat(request.groupBy >= GroupBy.GROUP_BY_UNSPECIFIED && request.groupBy <= GroupBy.GROUP_BY_ENDING, 'group_by', 'must be a known grouping');
  return { groups: await sumRecords(db, filter, request.groupBy) };
}
