// GetRefusalTotals: exact counts of refused calls, grouped.
import type { CallContext } from '#client/call-context.js';
import { type GetRefusalTotalsRequest, type GetRefusalTotalsResponse, RefusalGroupBy } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireOffset, requireThat } from '../requests/validate-call.js';
import { validateRefusalFilter } from '../requests/validate-refusals.js';
import { countRefusals } from '../store/refusals/refusal-queries.js';

/** Raises invalid_request for a malformed filter or grouping, failed_precondition for more groups than one response may have. */
export async function getRefusalTotals(
  { filter, groupBy, thenBy, offsetMinutes }: GetRefusalTotalsRequest,
  _context: CallContext,
  { db }: RpcDeps,
): Promise<GetRefusalTotalsResponse> {
  requireThat(isGroupBy(groupBy), 'group_by', 'must be a known grouping');
  requireThat(isGroupBy(thenBy), 'then_by', 'must be a known grouping');
  if (thenBy !== RefusalGroupBy.REFUSAL_GROUP_BY_UNSPECIFIED) {
    requireThat(groupBy !== RefusalGroupBy.REFUSAL_GROUP_BY_UNSPECIFIED, 'then_by', 'requires group_by');
    requireThat(thenBy !== groupBy, 'then_by', 'must differ from group_by');
  }
  requireOffset(offsetMinutes);
  return { groups: await countRefusals(db, validateRefusalFilter(filter), { groupBy, thenBy, offsetMinutes }) };
}

function isGroupBy(value: RefusalGroupBy): boolean {
  return value >= RefusalGroupBy.REFUSAL_GROUP_BY_UNSPECIFIED && value <= RefusalGroupBy.REFUSAL_GROUP_BY_PROJECT;
}
