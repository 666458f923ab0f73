// RecordUsage: prices and durably stores the record of an ended call, and queues its settlement.
import { trace } from '@opentelemetry/api';
import { isDuplicate } from '#kit/db/errors.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import { Outcome, type RecordUsageRequest, type RecordUsageResponse, type Settlement, UsageSource } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { countRecord } from '../metering-metrics.js';
import { recordInstants } from '../records/record-lane.js';
import { replaceLostRecord } from '../store/close-calls.js';
import { settlementOf } from '../store/outbox.js';
import { findRecord } from '../store/records.js';
import { type EndedCall, type PricedRecord, priceRecord } from '../records/usage-record.js';
import { formatUsd } from '#rules/money.js';
import { isKnownOutcome } from '#rules/outcomes.js';
import { requirePrices, requireThat, requireTokens, requireUint32, validateCall } from '../requests/validate-call.js';

/** What fits one statement with the default settings of a MySQL server: drivers send bytes as text of twice the length. */
const keptAnswerBytesMax = 7 * 1024 * 1024;

/**
 * Responds after the commit. A repeat returns the first record. A report of a call that was considered lost replaces
 * that record until it is settled. Raises call_closed when it arrives later or another call has its idempotency key, idempotency_mismatch when its id is on record for another
 * account.
 */
export async function recordUsage(request: RecordUsageRequest, context: CallContext, deps: RpcDeps): Promise<RecordUsageResponse> {
  const { clock, log, outbox, records } = deps;
  const priced = priceRecord(validateRequest(request), clock.nowMs());
  let settlement: Settlement | undefined;
  try {
    // If the caller no longer waits, it reports again, perhaps differently: a response that was withheld meanwhile is free.
    settlement = await records.add(priced, context);
  } catch (error) {
    // The key of a call that is on record may have expired, or have been released with it.
    if (!isDuplicate(error) && !hasReason(error, 'call_closed')) throw error;
    const replayed = await replay(priced, deps, error);
    if (replayed !== undefined) return replayed;
    log.info({ call_id: priced.record.call.id }, 'a call that was considered lost was reported after all; its report stands');
  }
  describeRecord(priced, settlement);
  if (settlement === undefined) outbox.take([settlementOf(priced)]);
  const record = { ...priced.record, settlement };
  countRecord(record);
  if (record.quarantined) {
    log.warn(
      { call_id: record.call.id, upstream_id: record.call.upstreamId, detail: record.outcomeDetail },
      'an upstream reported usage that breaks a rule; it was not charged as it came',
    );
  }
  return { record, replayed: false };
}

/** Adds to the span what a user of traces looks for in a record. */
function describeRecord({ record }: PricedRecord, settlement: Settlement | undefined): void {
  const span = trace.getActiveSpan();
  if (span?.isRecording() !== true) return;
  span.setAttributes({
    'tollgate.request.id': record.call.id,
    'tollgate.outcome': Outcome[record.outcome].replace('OUTCOME_', '').toLowerCase(),
    'tollgate.charge_usd': formatUsd(record.chargeNanoUsd),
    'tollgate.settlement': settlement === undefined ? 'queued' : 'with_record',
  });
}

/** Returns the response to a report whose call is on record already; undefined when the report replaced that record. */
async function replay(priced: PricedRecord, { config, clock, db }: RpcDeps, cause: unknown): Promise<RecordUsageResponse | undefined> {
  const { id, accountId } = priced.record.call;
  const first = await findRecord(db, id);
  if (first === undefined) throw cause;
  if (first.call?.accountId !== accountId) {
    throw new AppError('idempotency_mismatch', 'This call id is on record for another account.', { details: { field: 'call.id' } });
  }
  if (first.outcome !== Outcome.OUTCOME_GATEWAY_LOST) return { record: first, replayed: true };
  if (await replaceLostRecord(db, priced, recordInstants(config, clock.nowMs()))) return undefined;
  // Either another repeat of the report was faster, which the next read shows, or the charge of the lost call is settled.
  const now = await findRecord(db, id);
  if (now === undefined || now.outcome === Outcome.OUTCOME_GATEWAY_LOST) {
    throw new AppError('call_closed', 'The call was considered lost, and its charge at the last checkpoint is final.');
  }
  return { record: now, replayed: true };
}

function validateRequest(request: RecordUsageRequest): EndedCall {
  const call = validateCall(request.call);
  const tokens = requireTokens(request.tokens, 'tokens');
  requirePrices(tokens, call, 'tokens');
  requireThat(
    request.source === UsageSource.USAGE_SOURCE_REPORTED || request.source === UsageSource.USAGE_SOURCE_ESTIMATED,
    'source',
    'must say where the counts came from',
  );
  const { outcome } = request;
  requireThat(
    isKnownOutcome(outcome) && outcome !== Outcome.OUTCOME_GATEWAY_LOST,
    'outcome',
    'must be a known outcome other than GATEWAY_LOST',
  );
  if (request.firstOutputMs !== undefined) requireUint32(request.firstOutputMs, 'first_output_ms');
  requireUint32(request.durationMs, 'duration_ms');
  const { source, outcomeDetail, firstOutputMs, durationMs, free, quarantined, neverCheckpointed } = request;
  // A response that is too large must not cause the loss of a record.
  const storedAnswer = request.storedAnswer.length > keptAnswerBytesMax ? Buffer.alloc(0) : request.storedAnswer;
  return { call, tokens, source, outcome, outcomeDetail, firstOutputMs, durationMs, free, quarantined, storedAnswer, neverCheckpointed };
}
