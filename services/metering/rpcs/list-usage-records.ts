// ListUsageRecords: records of a filter, newest first or in another order. Pages are by keyset, so that records that arrive between two pages neither
// repeat nor hide others.
import type { CallContext } from '#client/call-context.js';
import { type ListUsageRecordsRequest, type ListUsageRecordsResponse, RecordOrder } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { decodePageToken, encodePageToken } from '../requests/page-token.js';
import { findOrderedRecords, findRecords, isOrder } from '../store/records/queries.js';
import { requireThat } from '../requests/validate-call.js';
import { validateFilter } from '../requests/validate-filter.js';

const pageSizeDefault = 50;
const pageSizeMax = 1000;

/** Raises invalid_request for a malformed filter, page size or page token. */
export async function listUsageRecords(
  request: ListUsageRecordsRequest,
  { signal }: CallContext,
  { db }: RpcDeps,
): Promise<ListUsageRecordsResponse> {
  const filter = validateFilter(request.filter);
  requireThat(request.pageSize <= pageSizeMax, 'page_size', `must be at most ${pageSizeMax}`);
  const pageSize = request.pageSize === 0 ? pageSizeDefault : request.pageSize;
  const { orderBy } = request;
  if (orderBy !== undefined) requireThat(isOrder(orderBy), 'order_by', 'must be a known order');
  const kind = orderBy ?? RecordOrder.RECORD_ORDER_UNSPECIFIED;
  const after = decodePageToken(kind, request.pageToken);
  if (orderBy !== undefined) {
    const place = after === undefined ? undefined : { value: after.startedAtMs, callId: after.callId };
    const { records, isNewestOnly } = await findOrderedRecords(db, filter, orderBy, place, pageSize + 1);
    const [page, last] = [records.slice(0, pageSize), records[pageSize - 1]];
    const nextPageToken =
      records.length > pageSize && last !== undefined
        ? encodePageToken(kind, { startedAtMs: last.value, callId: last.record.call!.id })
        : '';
    return { records: page.map(({ record }) => record), nextPageToken, newestOnly: isNewestOnly };
  }
  // One more than fits shows whether there is another page.
  const found = await findRecords(db, filter, after, pageSize + 1, signal);
  const records = found.slice(0, pageSize);
  const last = records.at(-1)?.call;
  const hasMore = found.length > pageSize && last !== undefined;
  return {
    records,
    nextPageToken: hasMore ? encodePageToken(kind, { startedAtMs: last.startedAtMs, callId: last.id }) : '',
    newestOnly: false,
  };
}
