// GetHold: one hold.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { GetHoldRequest, GetHoldResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedId } from '../requests/fields.js';
import { toHoldMessage } from '../requests/messages.js';

/** Raises not_found and invalid_request. */
export async function getHold(request: GetHoldRequest, _context: CallContext, deps: RpcDeps): Promise<GetHoldResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const holdId = checkedId('hold_id', 'req', request.holdId);
  const hold = await deps.reads.hold(accountId, holdId);
  if (hold === undefined) throw fault('no_hold', { id: holdId }, { details: { what: 'hold' } });
  return { hold: toHoldMessage(hold) };
}
