// GetBalance: an account's current money.
import type { CallContext } from '#client/call-context.js';
import type { GetBalanceRequest, GetBalanceResponse } from '#proto/ledger/v1/ledger.js';
import { emptyAccount } from '../books/buckets.js';
import type { RpcDeps } from '../deps.js';
import { balanceOf } from '../books/journal.js';
import { checkedId } from '../requests/fields.js';

/** Returns zero for an account that never had a deposit: the ledger does not know which accounts exist. Raises invalid_request. */
export async function getBalance(request: GetBalanceRequest, _context: CallContext, deps: RpcDeps): Promise<GetBalanceResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  return { balance: balanceOf((await deps.reads.account(accountId)) ?? emptyAccount(accountId)) };
}
