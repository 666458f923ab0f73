// RetrySettlement: sends refused charges to the ledger again.
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { RetrySettlementRequest, RetrySettlementResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { isRetried, retryRefused } from '../store/settlement/unsettled.js';
import { requireId } from '../requests/validate-call.js';

/** The outbox worker finds them at its next poll. Raises not_found for a call whose charge is neither refused nor, after a retry, pending or settled. */
export async function retrySettlement(
  { callId }: RetrySettlementRequest,
  context: CallContext,
  { audit, db, clock, log }: RpcDeps,
): Promise<RetrySettlementResponse> {
  if (callId !== '') requireId('req', callId, 'call_id');
  const retried = await retryRefused(db, callId === '' ? undefined : callId, clock.nowMs(), (tx, count) =>
    audit.append(tx, context, { action: 'settlement.retry', targetId: callId, detail: { retried: count } }),
  );
  // A repeat of a retry whose response was lost finds the charge pending or settled.
  if (callId !== '' && retried === 0 && !(await isRetried(db, callId))) {
    throw new AppError('not_found', `The ledger has not refused the charge of the call ${callId}; see \`tollgate usage unsettled\`.`, {
      details: { what: 'settlement' },
    });
  }
  log.info({ caller: context.caller, call_id: callId, retried }, 'refused charges are offered to the ledger again');
  return { retried: BigInt(retried) };
}
