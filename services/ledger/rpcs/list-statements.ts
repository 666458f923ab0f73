// ListStatements: an account's months, newest first.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { ListStatementsRequest, ListStatementsResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { monthOfText, monthText } from '../statements/months.js';
import { checkedCount, checkedId } from '../requests/fields.js';
import { statementsOf } from '../statements/statements.js';

/** A page token is the last month of the previous page. Raises invalid_request. */
export async function listStatements(
  request: ListStatementsRequest,
  _context: CallContext,
  deps: RpcDeps,
): Promise<ListStatementsResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const pageSize = checkedCount('page_size', request.pageSize, { min: 1, max: 240, default: 24 });
  const before = request.pageToken === '' ? Number.POSITIVE_INFINITY : monthOfText(request.pageToken);
  if (before === undefined) throw fieldFault('page_token', 'page_token');
  const { months, render } = await statementsOf(accountId, deps);
  const older = months.filter(({ month }) => month < before).toReversed();
  const page = older.slice(0, pageSize);
  const last = page.at(-1);
  return { statements: page.map(render), nextPageToken: last === undefined || older.length <= pageSize ? '' : monthText(last.month) };
}
