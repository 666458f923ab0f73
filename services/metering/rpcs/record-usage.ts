// RecordUsage: prices and durably stores the record of an ended call, and queues its settlement.
import { trace } from '@opentelemetry/api';
import { isDuplicate } from '#kit/db/errors.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import {
  Outcome,
  type RecordUsageRequest,
  type RecordUsageResponse,
  ResponseStorage,
  type Settlement,
  type StoredResponse,
  UsageRecord,
  UsageSource,
} from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { countRecord } from '../metering-metrics.js';
import { AnswerQuota } from '../keyed-calls/answer-quota.js';
import { requireHold } from '../records/require-hold.js';
import { recordInstants } from '../records/record-lane.js';
import { type RecordEffects, replaceLostRecord } from '../store/records/close-calls.js';
import { settlementOf } from '../store/settlement/outbox.js';
import { bytesOf } from '../store/records/record-rows.js';
import { findRecord } from '../store/records/records.js';
import { findParts } from '../store/keyed-calls/stored-parts.js';
import { type EndedCall, type PricedRecord, priceRecord } from '../records/usage-record.js';
import { formatUsd } from '#rules/money/money.js';
import { isKnownOutcome } from '#rules/money/outcomes.js';
import {
  namesMax,
  requireHash,
  requirePrices,
  requireThat,
  requireTokens,
  requireUint32,
  validateCall,
} from '../requests/validate-call.js';

/** Maximum size that fits in one statement with the default settings of a MySQL server: drivers send bytes as text of twice the length. */
const keptAnswerBytesMax = 7 * 1024 * 1024;
const storedMsMin = 1;
const storedMsMax = 30 * 86_400_000;
const unspecified = ResponseStorage.RESPONSE_STORAGE_UNSPECIFIED;

/**
 * Responds after the commit. A repeat returns the first record. The report of a call that was considered lost replaces that call's record until it is
 * settled. Raises invalid_request, call_closed when the report arrives later or another call has its idempotency key, idempotency_mismatch when its
 * id is on record for another account, and the errors of `requireHold`.
 */
export async function recordUsage(request: RecordUsageRequest, context: CallContext, deps: RpcDeps): Promise<RecordUsageResponse> {
  const { clock, log, outbox, records } = deps;
  const ended = validateRequest(request);
  await requireHold(ended.call, context, deps);
  const priced = priceRecord(ended, clock.nowMs());
  let effects: RecordEffects;
  try {
    // If the caller no longer waits, it reports again, perhaps differently: a response that was withheld meanwhile is free.
    effects = await records.add(priced, context);
  } catch (error) {
    // The key of a call that is on record may have expired, or have been released with it.
    if (!isDuplicate(error) && !hasReason(error, 'call_closed')) throw error;
    const replayed = await replay(priced, deps, error);
    if (replayed !== undefined) return answerTo(request, replayed);
    effects = { settlement: undefined, storage: await storageOf(priced, deps) };
    log.info({ call_id: priced.record.call.id }, 'a call that was considered lost was reported after all; its report is used');
  }
  const { settlement, storage } = effects;
  describeRecord(priced, settlement);
  if (settlement === undefined) outbox.take([settlementOf(priced)]);
  const record = { ...priced.record, settlement };
  countRecord(record);
  if (record.quarantined) {
    log.warn(
      { call_id: record.call.id, upstream_id: record.call.upstreamId, detail: record.outcomeDetail },
      'an upstream reported usage that breaks a rule; that usage was not charged',
    );
  }
  const isTooLarge = request.storedResponse !== undefined && priced.storedResponse === undefined;
  const responseStorage = isTooLarge ? ResponseStorage.RESPONSE_STORAGE_TOO_LARGE : (storage ?? unspecified);
  return answerTo(request, { record, replayed: false, responseStorage });
}

const emptyRecord = UsageRecord.fromPartial({});

function answerTo({ chargeOnly }: RecordUsageRequest, response: RecordUsageResponse): RecordUsageResponse {
  if (!chargeOnly) return response;
  const { tokens, chargeNanoUsd } = response.record!;
  return { ...response, record: { ...emptyRecord, tokens, chargeNanoUsd } };
}

/** Returns whether the response of a call that is already on record is stored. */
async function storageOf({ record, storedResponse }: PricedRecord, { db, clock }: RpcDeps): Promise<ResponseStorage> {
  if (storedResponse === undefined) return unspecified;
  const accountId = bytesOf('acct', record.call.accountId);
  const first = storedResponse.parts.slice(0, 1).map(({ nameHash }) => nameHash);
  const { parts } = await findParts(db, accountId, first, { nowMs: clock.nowMs(), keptMs: 0 });
  return parts.length > 0 ? ResponseStorage.RESPONSE_STORAGE_STORED : ResponseStorage.RESPONSE_STORAGE_GONE;
}

/** Adds to the span the parts of a record that operators look for in traces. */
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
async function replay(priced: PricedRecord, deps: RpcDeps, cause: unknown): Promise<RecordUsageResponse | undefined> {
  const { config, clock, db } = deps;
  const { id, accountId } = priced.record.call;
  const first = await findRecord(db, id);
  if (first === undefined) throw cause;
  if (first.call?.accountId !== accountId) {
    throw new AppError('idempotency_mismatch', 'This call id is on record for another account.', { details: { field: 'call.id' } });
  }
  if (first.outcome !== Outcome.OUTCOME_GATEWAY_LOST)
    return { record: first, replayed: true, responseStorage: await storageOf(priced, deps) };
  if (await replaceLostRecord(db, priced, recordInstants(config, clock.nowMs()), new AnswerQuota(deps))) return undefined;
  // Either another repeat of the report was faster, which the next read shows, or the charge of the lost call is settled.
  const now = await findRecord(db, id);
  if (now === undefined || now.outcome === Outcome.OUTCOME_GATEWAY_LOST) {
    throw new AppError('call_closed', 'The call was considered lost, and its charge at the last checkpoint is final.');
  }
  return { record: now, replayed: true, responseStorage: await storageOf(priced, deps) };
}

function validateRequest(request: RecordUsageRequest): EndedCall {
  const call = validateCall(request.call);
  const tokens = requireTokens(request.tokens);
  requirePrices(tokens, call);
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
  const storedResponse = storable(request.storedResponse);
  const rest = { firstOutputMs, durationMs, free, quarantined, storedAnswer, storedResponse, neverCheckpointed };
  return { call, tokens, source, outcome, outcomeDetail, ...rest };
}

/** Returns a response that can be stored; undefined if there is none or it is too large. */
function storable(response: StoredResponse | undefined): StoredResponse | undefined {
  if (response === undefined) return undefined;
  const { parts, keptMs } = response;
  requireThat(keptMs >= storedMsMin && keptMs <= storedMsMax, 'stored_response.kept_ms', `must be from ${storedMsMin} to ${storedMsMax}`);
  for (const { nameHash } of parts) requireHash(nameHash, 'stored_response.parts.name_hash');
  return parts.length > namesMax || parts.some(({ content }) => content.length > keptAnswerBytesMax) ? undefined : response;
}
