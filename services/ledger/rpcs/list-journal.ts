// ListJournal: the journal of one account or of all, page by page, oldest first within an account.
import type { CallContext } from '#client/call-context.js';
import type { ListJournalRequest, ListJournalResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedCount, checkedExtent } from '../requests/fields.js';
import { entryPlace, entryToken } from '../requests/places.js';

/** Raises invalid_request. */
export async function listJournal(request: ListJournalRequest, _context: CallContext, deps: RpcDeps): Promise<ListJournalResponse> {
  const limit = checkedCount('page_size', request.pageSize, { min: 1, max: 1000, default: 500 });
  const { entries, next } = await deps.pages.entriesAfter(checkedExtent(request), entryPlace(request.pageToken), limit);
  return { entries, nextPageToken: entryToken(next) };
}
