// Hold: sets money aside for one call.
import type { CallContext } from '#client/call-context.js';
import type { HoldRequest, HoldResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { perform } from '../lane/perform.js';
import { toHoldMessage } from '../requests/messages.js';
import { holdOperation } from '../requests/operations.js';

/** Raises balance_empty, balance_held, key_limit_reached, hold_closed, idempotency_mismatch and invalid_request. */
export async function hold(request: HoldRequest, context: CallContext, deps: RpcDeps): Promise<HoldResponse> {
  const reply = await perform(holdOperation(request), context, deps);
  return { hold: toHoldMessage(reply.hold), replayed: reply.replayed };
}
