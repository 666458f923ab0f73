// GetEntry: one entry of the journal.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { GetEntryRequest, GetEntryResponse } from '#proto/ledger/v1/ledger.js';
import { emptyAccount } from '../books/buckets.js';
import type { RpcDeps } from '../deps.js';
import { seqOfEntry } from '../books/journal.js';
import { checkedId } from '../requests/fields.js';

/** Raises not_found and invalid_request. */
export async function getEntry(request: GetEntryRequest, _context: CallContext, deps: RpcDeps): Promise<GetEntryResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const account = (await deps.reads.account(accountId)) ?? emptyAccount(accountId);
  const seq = seqOfEntry(account, request.entryId);
  const [entry] =
    seq === undefined
      ? []
      : await deps.months.entries(accountId, { fromSeq: seq, endSeq: seq + 1n, kinds: [] }, { oldestFirst: true, limit: 1 });
  if (entry === undefined) throw fault('no_entry', {}, { details: { what: 'entry' } });
  return { entry };
}
