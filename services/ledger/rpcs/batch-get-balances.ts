// BatchGetBalances: the current money of several accounts.
import type { CallContext } from '#client/call-context.js';
import type { BatchGetBalancesRequest, BatchGetBalancesResponse } from '#proto/ledger/v1/ledger.js';
import { emptyAccount } from '../books/buckets.js';
import type { RpcDeps } from '../deps.js';
import { balanceOf } from '../books/journal.js';
import { checkedId, invalidField } from '../requests/fields.js';

const accountsMax = 1000;

/** Returns the balances in the requested order, zero for an account that never had a deposit. Raises invalid_request. */
export async function batchGetBalances(
  request: BatchGetBalancesRequest,
  _context: CallContext,
  deps: RpcDeps,
): Promise<BatchGetBalancesResponse> {
  const { accountIds } = request;
  if (accountIds.length === 0 || accountIds.length > accountsMax) throw invalidField('account_ids', `1 to ${accountsMax} accounts`);
  for (const accountId of accountIds) checkedId('account_ids', 'acct', accountId);
  const found = await deps.reads.accounts([...new Set(accountIds)]);
  return { balances: accountIds.map((accountId) => balanceOf(found.get(accountId) ?? emptyAccount(accountId))) };
}
