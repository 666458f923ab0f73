// Queues the refund of a whole answer that was charged although it was withheld from its client.
import type { CallContext } from '#client/call-context.js';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import {
  Outcome,
  type RefundUndeliveredAnswerRequest,
  type RefundUndeliveredAnswerResponse,
  type UsageRecord,
} from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireHash, requireId } from '../requests/validate-call.js';
import { enqueueRefund } from '../store/settlement/refund-outbox.js';
import { findRecord } from '../store/records/records.js';

/** Bounds what a gateway could refund by mistake or in bad faith. Gateways report immediately, or as soon as metering is available again. */
const recordAgeMsMax = 86_400_000;

/** Returns after the commit. Raises not_found, and failed_precondition for a call of which something may have been delivered or that ended too long ago. */
export async function refundUndeliveredAnswer(
  { accountId, callId, idempotencyKeyHash }: RefundUndeliveredAnswerRequest,
  context: CallContext,
  { db, clock, log }: RpcDeps,
): Promise<RefundUndeliveredAnswerResponse> {
  requireId('acct', accountId, 'account_id');
  requireId('req', callId, 'call_id');
  if (idempotencyKeyHash.length > 0) requireHash(idempotencyKeyHash, 'idempotency_key_hash');
  const record = await findRecord(db, callId);
  if (record?.call?.accountId !== accountId) throw fault('no_such_id', { what: 'usage_record' });
  if (record.chargeNanoUsd === 0n) return {};
  assertRefundable(record, clock.nowMs());
  await enqueueRefund(db, { callId, accountId, keyHash: idempotencyKeyHash }, clock.nowMs());
  log.warn(
    { caller: context.caller, call_id: callId, account_id: accountId, charge_nano_usd: String(record.chargeNanoUsd) },
    'an answer was charged and withheld from its client; the charge will be refunded',
  );
  return {};
}

function assertRefundable({ call, outcome, recordedAtMs }: UsageRecord, nowMs: number): void {
  const isFinished = outcome === Outcome.OUTCOME_COMPLETED || outcome === Outcome.OUTCOME_MAX_TOKENS;
  if (call!.streaming || !isFinished)
    throw new AppError('failed_precondition', `Some of the answer of the call ${call!.id} may have been delivered.`);
  if (nowMs - Number(recordedAtMs) > recordAgeMsMax)
    throw new AppError('failed_precondition', `The record of the call ${call!.id} is older than a day. Only an operator can refund it.`);
}
