// GetUsageTotals: sums over a filter, grouped.
import type { CallContext } from '#client/call-context.js';
import { GroupBy, type GetUsageTotalsRequest, type GetUsageTotalsResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { type Grouping, sumRecords } from '../store/totals.js';
import { requireThat } from '../requests/validate-call.js';
import { validateFilter } from '../requests/validate-filter.js';

/** The UTC offsets of the world's time zones; all of them are whole quarters of an hour. */
const offsetMinutesMin = -720;
const offsetMinutesMax = 840;

/** Raises invalid_request for a malformed filter or grouping, failed_precondition for more groups than one response may have. */
export async function getUsageTotals(
  request: GetUsageTotalsRequest,
  _context: CallContext,
  { db }: RpcDeps,
): Promise<GetUsageTotalsResponse> {
  return { groups: await sumRecords(db, validateFilter(request.filter), validateGrouping(request)) };
}

function validateGrouping({ groupBy, thenBy, offsetMinutes }: GetUsageTotalsRequest): Grouping {
  requireThat(isGroupBy(groupBy), 'group_by', 'must be a known grouping');
  requireThat(isGroupBy(thenBy), 'then_by', 'must be a known grouping');
  if (thenBy !== GroupBy.GROUP_BY_UNSPECIFIED) {
    requireThat(groupBy !== GroupBy.GROUP_BY_UNSPECIFIED, 'then_by', 'needs group_by');
    requireThat(thenBy !== groupBy, 'then_by', 'must differ from group_by');
  }
  requireThat(
    offsetMinutes >= offsetMinutesMin && offsetMinutes <= offsetMinutesMax && offsetMinutes % 15 === 0,
    'offset_minutes',
    `must be a multiple of 15 from ${offsetMinutesMin} to ${offsetMinutesMax}`,
  );
  return { groupBy, thenBy, offsetMinutes };
}

function isGroupBy(value: GroupBy): boolean {
  return value >= GroupBy.GROUP_BY_UNSPECIFIED && value <= GroupBy.GROUP_BY_HOUR;
}
