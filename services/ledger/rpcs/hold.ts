// Hold: sets money aside for one call.
import type { CallContext } from '#client/call-context.js';
import type { HoldRequest, HoldResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import type { HoldReply } from '../books/model.js';
import { countOperation } from '../ledger-metrics.js';
import { perform } from '../lane/perform.js';
import { toHoldMessage, toShareMessage } from '../requests/messages.js';
import { holdOperation } from '../requests/operations.js';

/**
 * Sends the response provisionally when the hold is granted but not yet durable. Raises balance_empty, balance_held, key_limit_reached, budget_reached,
 * hold_closed, idempotency_mismatch and invalid_request.
 */
export async function hold(request: HoldRequest, context: CallContext, deps: RpcDeps): Promise<HoldResponse> {
  const { onProvisional } = context;
  const nowMs = deps.clock.nowMs();
  const operation = holdOperation(request, nowMs);
  const granted = request.durableWithRecord === true ? deps.unwritten?.grant(operation, nowMs, deps.writeHolds) : undefined;
  if (granted !== undefined) {
    countOperation(operation, granted);
    return { ...responseOf(granted.reply), unwritten: true };
  }
  let provisional: { readonly reply: HoldReply; readonly response: HoldResponse } | undefined;
  const sendProvisional = (reply: HoldReply): void => {
    provisional = { reply, response: responseOf(reply) };
    onProvisional!(provisional.response);
  };
  const reply = await perform(operation, context, deps, onProvisional && sendProvisional);
  // The same object, so that a transport need not send it again.
  return reply === provisional?.reply ? provisional.response : responseOf(reply);
}

function responseOf({ hold, replayed, projectShare }: HoldReply): HoldResponse {
  return { hold: toHoldMessage(hold), replayed, projectShare: projectShare && toShareMessage(projectShare) };
}
