// CloseSettlement: permanently gives up a refused charge, with a reason that is kept.
import type { CallContext } from '#client/call-context.js';
import type { CloseSettlementRequest, CloseSettlementResponse } from '#proto/metering/v1/metering.js';
import { formatUsd } from '#rules/money/money.js';
import type { RpcDeps } from '../deps.js';
import { closeRefused } from '../store/settlement/unsettled.js';
import { requireId, requireThat } from '../requests/validate-call.js';

const reasonCharsMax = 500;

/** Raises invalid_request, not_found, and failed_precondition unless the ledger has refused the charge. */
export async function closeSettlement(
  { callId, reason }: CloseSettlementRequest,
  context: CallContext,
  { audit, db, clock, log }: RpcDeps,
): Promise<CloseSettlementResponse> {
  requireId('req', callId, 'call_id');
  requireThat(reason.trim() !== '' && reason.length <= reasonCharsMax, 'reason', `is required, with at most ${reasonCharsMax} characters`);
  const charge = await closeRefused(db, callId, reason, clock.nowMs(), (tx, { accountId, chargeNanoUsd }) =>
    audit.append(tx, context, {
      action: 'settlement.close',
      accountId,
      targetId: callId,
      detail: { reason, charge_usd: formatUsd(chargeNanoUsd) },
    }),
  );
  log.warn(
    { caller: context.caller, call_id: callId, account_id: charge.accountId, charge_nano_usd: String(charge.chargeNanoUsd), reason },
    'a refused charge was closed',
  );
  return { charge };
}
