// ListEntries: the journal of an account or of one of its months, newest first by default.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { EntryKind, type ListEntriesRequest, type ListEntriesResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedCount, checkedId, checkedMonth, invalidField } from '../requests/fields.js';
import { monthIn, statementsOf } from '../statements/statements.js';
import type { EntryRange } from '../store/months.js';

/** Higher than any entry's number. */
const endOfAll = 2n ** 53n - 1n;

/**
 * A page token is the number of the last entry of the previous page: pages stay correct while entries are added. Raises invalid_request,
 * and for a month what GetStatement raises.
 */
export async function listEntries(request: ListEntriesRequest, _context: CallContext, deps: RpcDeps): Promise<ListEntriesResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const pageSize = checkedCount('page_size', request.pageSize, { min: 1, max: 1000, default: 100 });
  if (!/^\d{0,15}$/.test(request.pageToken)) throw fieldFault('page_token', 'page_token');
  const { oldestFirst } = request;
  const range = after(request.pageToken, oldestFirst, await rangeOf(accountId, request, deps));
  // One more than requested shows whether there is another page.
  const found = await deps.months.entries(accountId, range, { oldestFirst, limit: pageSize + 1 });
  const entries = found.slice(0, pageSize);
  return { entries, nextPageToken: found.length > pageSize ? String(entries.at(-1)!.seq) : '' };
}

async function rangeOf(accountId: string, { month, kinds }: ListEntriesRequest, deps: RpcDeps): Promise<EntryRange> {
  if (kinds.some((kind) => kind === EntryKind.ENTRY_KIND_UNSPECIFIED || EntryKind[kind] === undefined))
    throw invalidField('kinds', 'kinds of entries');
  if (month === '') return { fromSeq: 1n, endSeq: endOfAll, kinds };
  const wanted = checkedMonth('month', month);
  const { months } = await statementsOf(accountId, deps);
  const { firstSeq, endSeq } = monthIn(months, wanted);
  return { fromSeq: firstSeq, endSeq, kinds };
}

function after(token: string, oldestFirst: boolean, range: EntryRange): EntryRange {
  if (token === '') return range;
  const last = BigInt(token);
  if (oldestFirst) return last < range.fromSeq ? range : { ...range, fromSeq: last + 1n };
  return last > range.endSeq ? range : { ...range, endSeq: last };
}
