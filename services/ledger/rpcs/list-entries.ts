// ListEntries: the journal of an account, newest first.
import type { CallContext } from '#kit/rpc/call-context.js';
import type { ListEntriesRequest, ListEntriesResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedCount, checkedId, invalidField } from '../requests/fields.js';

/** A page token is the number of the last entry of the page before: pages stay right while entries are added. Raises invalid_request. */
export async function listEntries(request: ListEntriesRequest, _context: CallContext, deps: RpcDeps): Promise<ListEntriesResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const pageSize = checkedCount('page_size', request.pageSize, { min: 1, max: 1000, default: 100 });
  if (!/^\d{0,15}$/.test(request.pageToken)) throw invalidField('page_token', 'the next_page_token of the page before, or empty');
  const before = request.pageToken === '' ? undefined : BigInt(request.pageToken);
  const entries = await deps.reads.entriesBefore(accountId, before, pageSize);
  const last = entries.at(-1);
  // The journal has no gaps, so there is a further page exactly when the last entry is not the first ever.
  return { entries, nextPageToken: last === undefined || last.seq === 1n ? '' : String(last.seq) };
}
