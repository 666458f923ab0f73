// GetStatement: one month of an account.
import type { CallContext } from '#client/call-context.js';
import type { GetStatementRequest, GetStatementResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedId, checkedMonth } from '../requests/fields.js';
import { monthIn, statementsOf } from '../statements/statements.js';

/** Raises not_found and invalid_request. */
export async function getStatement(request: GetStatementRequest, _context: CallContext, deps: RpcDeps): Promise<GetStatementResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const month = checkedMonth('month', request.month);
  const { months, render } = await statementsOf(accountId, deps);
  return { statement: render(monthIn(months, month)) };
}
