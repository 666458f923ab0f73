// ListOpenHolds: what an account currently has set aside.
import type { CallContext } from '#client/call-context.js';
import type { ListOpenHoldsRequest, ListOpenHoldsResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedCount, checkedId } from '../requests/fields.js';
import { toHoldMessage } from '../requests/messages.js';

/** Raises invalid_request. */
export async function listOpenHolds(request: ListOpenHoldsRequest, _context: CallContext, deps: RpcDeps): Promise<ListOpenHoldsResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const limit = checkedCount('page_size', request.pageSize, { min: 1, max: 1000, default: 100 });
  return { holds: (await deps.reads.openHolds(accountId, limit)).map(toHoldMessage) };
}
