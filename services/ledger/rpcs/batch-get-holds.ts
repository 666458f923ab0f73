// BatchGetHolds: several holds by account and id.
import type { CallContext } from '#client/call-context.js';
import type { BatchGetHoldsRequest, BatchGetHoldsResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedId, invalidField } from '../requests/fields.js';
import { toHoldMessage } from '../requests/messages.js';

const itemsMax = 500;

/** Raises invalid_request. */
export async function batchGetHolds(request: BatchGetHoldsRequest, _context: CallContext, deps: RpcDeps): Promise<BatchGetHoldsResponse> {
  if (request.items.length > itemsMax) throw invalidField('items', `at most ${itemsMax}`);
  const names = request.items.map((item, index) => ({
    accountId: checkedId(`items[${index}].account_id`, 'acct', item.accountId),
    holdId: checkedId(`items[${index}].hold_id`, 'req', item.holdId),
  }));
  const holds = await deps.reads.holdsByName(names);
  // The instant is read after the holds, so that a hold that is archived in between counts as archived.
  return { holds: holds.map(toHoldMessage), archivedUntilMs: await deps.reads.archivedUntilMs() };
}
