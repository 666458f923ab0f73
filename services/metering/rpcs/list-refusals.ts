// ListRefusals: stored refusals of a filter, newest first, in keyset pages like those of ListUsageRecords.
import type { CallContext } from '#client/call-context.js';
import type { ListRefusalsRequest, ListRefusalsResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { decodePageToken, encodePageToken, ofRefusals } from '../requests/page-token.js';
import { requireThat } from '../requests/validate-call.js';
import { validateRefusalFilter } from '../requests/validate-refusals.js';
import { findRefusals } from '../store/refusals/refusal-queries.js';

const pageSizeDefault = 50;
const pageSizeMax = 1000;

/** Raises invalid_request for a malformed filter, page size or page token. */
export async function listRefusals(request: ListRefusalsRequest, _context: CallContext, { db }: RpcDeps): Promise<ListRefusalsResponse> {
  const filter = validateRefusalFilter(request.filter);
  requireThat(request.pageSize <= pageSizeMax, 'page_size', `must be at most ${pageSizeMax}`);
  const pageSize = request.pageSize === 0 ? pageSizeDefault : request.pageSize;
  // One more than fits shows whether there is another page.
  const found = await findRefusals(db, filter, decodePageToken(ofRefusals, request.pageToken), pageSize + 1);
  const refusals = found.slice(0, pageSize);
  const last = refusals.at(-1);
  const hasMore = found.length > pageSize && last !== undefined;
  return { refusals, nextPageToken: hasMore ? encodePageToken(ofRefusals, { startedAtMs: last.refusedAtMs, callId: last.requestId }) : '' };
}
