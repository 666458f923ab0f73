// ListAlertDeliveries: what was sent for an account, newest first.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { isId } from '#kit/id.js';
import type { ListAlertDeliveriesRequest, ListAlertDeliveriesResponse } from '#proto/ledger/v1/alerts.js';
import { checkedCount, checkedId } from '../../requests/fields.js';
import type { AlertDeps } from '../deps.js';
import { toDeliveryMessage } from '../render.js';

/** A page token is the id of the last message of the previous page. Raises invalid_request. */
export async function listAlertDeliveries(
  request: ListAlertDeliveriesRequest,
  _context: CallContext,
  { deliveries }: AlertDeps,
): Promise<ListAlertDeliveriesResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const pageSize = checkedCount('page_size', request.pageSize, { min: 1, max: 200, default: 50 });
  const { pageToken } = request;
  if (pageToken !== '' && !isId('adl', pageToken)) throw fieldFault('page_token', 'page_token');
  // One more than the page size shows whether there is another page.
  const found = await deliveries.page(accountId, pageToken === '' ? undefined : pageToken, pageSize + 1);
  const page = found.slice(0, pageSize);
  return { deliveries: page.map(toDeliveryMessage), nextPageToken: found.length > pageSize ? page.at(-1)!.id : '' };
}
