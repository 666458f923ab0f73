// ListUnsettledCharges: charges that the ledger has not taken, oldest call first.
import { isId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { type ListUnsettledChargesRequest, type ListUnsettledChargesResponse, UnsettledState } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { unsettledAfter } from '../store/settlement/unsettled.js';
import { requireId, requireThat } from '../requests/validate-call.js';

const pageSizeDefault = 50;
const pageSizeMax = 1000;

/** A page token is the last call of the previous page. Raises invalid_request. */
export async function listUnsettledCharges(
  request: ListUnsettledChargesRequest,
  _context: CallContext,
  { db }: RpcDeps,
): Promise<ListUnsettledChargesResponse> {
  const { accountId, state, pageToken } = request;
  if (accountId !== '') requireId('acct', accountId, 'account_id');
  requireThat(Object.values(UnsettledState).includes(state) && state >= 0, 'state', 'must be a known state');
  requireThat(request.pageSize <= pageSizeMax, 'page_size', `must be at most ${pageSizeMax}`);
  requireThat(pageToken === '' || isId('req', pageToken), 'page_token', 'must be one that this service returned');
  const pageSize = request.pageSize === 0 ? pageSizeDefault : request.pageSize;
  // One more than fits shows whether there is another page.
  const found = await unsettledAfter(db, { accountId, state }, pageToken, pageSize + 1);
  const charges = found.slice(0, pageSize);
  return { charges, nextPageToken: found.length > pageSize ? charges.at(-1)!.callId : '' };
}
