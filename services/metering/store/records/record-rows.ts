// Conversion between a usage record and a row of usage_record.
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { Table } from '#kit/db/plain/table.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { type ModelFallback, PromptLogState, type Settlement, type UsageRecord } from '#proto/metering/v1/metering.js';
import { chargeFor } from '#rules/money/pricing.js';
import type { PricedRecord } from '../../records/usage-record.js';
import { attemptsOfText, attemptText } from './attempt-text.js';
import { noUnits, unitsOfText, unitText } from './unit-text.js';

/** The columns in which a new record is stored. */
export const recordColumns = [
  'id',
  'account_id',
  'project_id',
  'key_id',
  'model_id',
  'upstream_id',
  'upstream_model',
  'format',
  'streaming',
  'held_nano_usd',
  'output_cap_tokens',
  'started_at_ms',
  'trace_id',
  'client_request_id',
  'price_id',
  'price_model_id',
  'price_effective_from_ms',
  'price_created_at_ms',
  'input_nano_usd_per_mtok',
  'cache_read_nano_usd_per_mtok',
  'cache_write_5m_nano_usd_per_mtok',
  'cache_write_1h_nano_usd_per_mtok',
  'output_nano_usd_per_mtok',
  'reasoning_nano_usd_per_mtok',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
  'source',
  'outcome',
  'outcome_detail',
  'free',
  'quarantined',
  'charge_nano_usd',
  'first_output_ms',
  'duration_ms',
  'recorded_at_ms',
  'attempts',
  'model_fallback',
  'units',
  'product',
] as const;

/** The columns that the ledger's response fills. */
const settlementColumns = ['captured_nano_usd', 'shortfall_nano_usd', 'settled_at_ms'] as const;

/** All columns, for reading. */
export const allRecordColumns = [...recordColumns, ...settlementColumns] as const;

const [idColumn, ...fixedColumns] = allRecordColumns;

/** The table, for inserts. */
export const recordTable = new Table('usage_record', { key: [idColumn], fixed: fixedColumns });

/** A row as the driver returns it. */
export type RecordRow = Record<(typeof allRecordColumns)[number], unknown>;

/** Returns the 16 bytes of an id that was validated before. */
export function bytesOf(prefix: string, id: string): Buffer {
  const bytes = idToBytes(prefix, id);
  if (bytes === undefined) throw new TypeError(`Not an id of ${prefix}.`);
  return bytes;
}

/** Returns the values of a new row, in the order of `recordColumns`. */
export function recordValues({ record, free }: PricedRecord): unknown[] {
  const { call, tokens } = record;
  const { price } = call;
  const row: Record<(typeof recordColumns)[number], unknown> = {
    id: bytesOf('req', call.id),
    account_id: bytesOf('acct', call.accountId),
    project_id: bytesOf('proj', call.projectId),
    key_id: bytesOf('key', call.keyId),
    model_id: call.modelId,
    upstream_id: call.upstreamId,
    upstream_model: call.upstreamModel,
    format: call.format,
    streaming: Number(call.streaming),
    held_nano_usd: call.heldNanoUsd,
    output_cap_tokens: call.outputCapTokens,
    started_at_ms: call.startedAtMs,
    trace_id: call.traceId,
    client_request_id: call.clientRequestId,
    price_id: bytesOf('price', price.id),
    price_model_id: price.modelId,
    price_effective_from_ms: price.effectiveFromMs,
    price_created_at_ms: price.createdAtMs,
    input_nano_usd_per_mtok: price.inputNanoUsdPerMtok,
    cache_read_nano_usd_per_mtok: price.cacheReadNanoUsdPerMtok,
    cache_write_5m_nano_usd_per_mtok: price.cacheWrite5mNanoUsdPerMtok,
    cache_write_1h_nano_usd_per_mtok: price.cacheWrite1hNanoUsdPerMtok,
    output_nano_usd_per_mtok: price.outputNanoUsdPerMtok,
    reasoning_nano_usd_per_mtok: price.reasoningNanoUsdPerMtok ?? null,
    input_tokens: tokens.inputTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_5m_tokens: tokens.cacheWrite5mTokens,
    cache_write_1h_tokens: tokens.cacheWrite1hTokens,
    output_tokens: tokens.outputTokens,
    reasoning_tokens: tokens.reasoningTokens,
    source: record.source,
    outcome: record.outcome,
    outcome_detail: record.outcomeDetail,
    free: Number(free),
    quarantined: Number(record.quarantined),
    charge_nano_usd: record.chargeNanoUsd,
    first_output_ms: record.firstOutputMs ?? null,
    duration_ms: record.durationMs,
    recorded_at_ms: record.recordedAtMs,
    attempts: attemptText(call),
    model_fallback: fallbackText(call.modelFallback),
    units: unitText(price.units, call.unitCaps, tokens.units),
    product: call.product === '' ? null : call.product,
  };
  // Their order is that of `recordColumns`.
  return Object.values(row);
}

/** Returns the values of the columns after `recordColumns`. */
export function settledValues(settlement: Settlement | undefined): unknown[] {
  if (settlement === undefined) return [null, null, null];
  return [settlement.capturedNanoUsd, settlement.shortfallNanoUsd, settlement.settledAtMs];
}

/** Returns the record of a row. Line items are computed from the row's own quantities and prices, never stored. */
export function recordFromRow(row: RecordRow): UsageRecord {
  const units = optional(row.units, (text) => unitsOfText(asText(text))) ?? noUnits;
  const tokens = {
    inputTokens: asNumber(row.input_tokens),
    cacheReadTokens: asNumber(row.cache_read_tokens),
    cacheWrite5mTokens: asNumber(row.cache_write_5m_tokens),
    cacheWrite1hTokens: asNumber(row.cache_write_1h_tokens),
    outputTokens: asNumber(row.output_tokens),
    reasoningTokens: asNumber(row.reasoning_tokens),
    units: units.counts,
  };
  const price = {
    id: idFromBytes('price', asBytes(row.price_id)),
    modelId: asText(row.price_model_id),
    effectiveFromMs: asBigInt(row.price_effective_from_ms),
    inputNanoUsdPerMtok: asBigInt(row.input_nano_usd_per_mtok),
    cacheReadNanoUsdPerMtok: asBigInt(row.cache_read_nano_usd_per_mtok),
    cacheWrite5mNanoUsdPerMtok: asBigInt(row.cache_write_5m_nano_usd_per_mtok),
    cacheWrite1hNanoUsdPerMtok: asBigInt(row.cache_write_1h_nano_usd_per_mtok),
    outputNanoUsdPerMtok: asBigInt(row.output_nano_usd_per_mtok),
    reasoningNanoUsdPerMtok: optional(row.reasoning_nano_usd_per_mtok, asBigInt),
    units: units.prices,
    createdAtMs: asBigInt(row.price_created_at_ms),
  };
  return {
    call: {
      id: idFromBytes('req', asBytes(row.id)),
      accountId: idFromBytes('acct', asBytes(row.account_id)),
      projectId: idFromBytes('proj', asBytes(row.project_id)),
      keyId: idFromBytes('key', asBytes(row.key_id)),
      modelId: asText(row.model_id),
      upstreamId: asText(row.upstream_id),
      upstreamModel: asText(row.upstream_model),
      format: asNumber(row.format),
      streaming: asNumber(row.streaming) === 1,
      price,
      heldNanoUsd: asBigInt(row.held_nano_usd),
      outputCapTokens: asNumber(row.output_cap_tokens),
      startedAtMs: asBigInt(row.started_at_ms),
      traceId: asText(row.trace_id),
      clientRequestId: asText(row.client_request_id),
      idempotencyKeyHash: Buffer.alloc(0),
      attempts: attemptsOfText(optional(row.attempts, asText), {
        upstreamId: asText(row.upstream_id),
        upstreamModel: asText(row.upstream_model),
      }),
      modelFallback: optional(row.model_fallback, (text) => fallbackOfText(asText(text))),
      unitCaps: units.caps,
      product: optional(row.product, asText) ?? '',
      promptLogDays: 0,
    },
    tokens,
    source: asNumber(row.source),
    outcome: asNumber(row.outcome),
    outcomeDetail: asText(row.outcome_detail),
    chargeNanoUsd: asBigInt(row.charge_nano_usd),
    lineItems: asNumber(row.free) === 1 ? [] : [...chargeFor(tokens, price).lineItems],
    firstOutputMs: optional(row.first_output_ms, asNumber),
    durationMs: asNumber(row.duration_ms),
    recordedAtMs: asBigInt(row.recorded_at_ms),
    settlement: settlementFromRow(row),
    quarantined: asNumber(row.quarantined) === 1,
    promptLog: PromptLogState.PROMPT_LOG_STATE_UNSPECIFIED,
  };
}

function fallbackText(fallback: ModelFallback | undefined): string | null {
  return fallback === undefined ? null : JSON.stringify([fallback.requestedModelId, fallback.budgetId, fallback.spentPercent]);
}

function fallbackOfText(text: string): ModelFallback {
  const [requestedModelId, budgetId, spentPercent] = JSON.parse(text) as [string, string, number];
  return { requestedModelId, budgetId, spentPercent };
}

function settlementFromRow(row: RecordRow): Settlement | undefined {
  if (row.settled_at_ms === null) return undefined;
  return {
    capturedNanoUsd: asBigInt(row.captured_nano_usd),
    shortfallNanoUsd: asBigInt(row.shortfall_nano_usd),
    settledAtMs: asBigInt(row.settled_at_ms),
  };
}
