// Settle: ends a hold with the true cost.
import { hasReason } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { SettleRequest, SettleResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { perform } from '../lane/perform.js';
import { toHoldMessage } from '../requests/messages.js';
import { settleOperation } from '../requests/operations.js';

/** Raises hold_closed, idempotency_mismatch, invalid_request, and not_found to callers other than metering, which records calls. */
export async function settle(request: SettleRequest, context: CallContext, deps: RpcDeps): Promise<SettleResponse> {
  try {
    const reply = await perform(settleOperation(request, context.caller === 'metering'), context, deps);
    return { hold: toHoldMessage(reply.hold), replayed: reply.replayed };
  } catch (error) {
    if (hasReason(error, 'hold_closed', 'idempotency_mismatch')) {
      // The cost is charged to no account, or the same call was reported with two costs: an operator must review it.
      deps.log.error(
        { account_id: request.accountId, hold_id: request.holdId, cost_nano_usd: String(request.costNanoUsd), reason: error.reason },
        'a settlement was refused',
      );
    }
    throw error;
  }
}
