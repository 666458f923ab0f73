// A usage record as archives store it: every amount as whole nano-USD in decimal digits, names instead of numbers, and everything from
// which its charge is computed. Pure.
import { enumWord } from '#kit/enum-word.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { Outcome, type UsageRecord, UsageSource } from '#proto/metering/v1/metering.js';

/** Returns the record as plain data for a line of JSON. */
export function recordLine(record: UsageRecord): Record<string, unknown> {
  const { settlement } = record;
  // Every stored record has a call.
  const call = record.call!;
  const tokens = record.tokens!;
  const price = call.price!;
  return {
    id: call.id,
    account_id: call.accountId,
    project_id: call.projectId,
    key_id: call.keyId,
    model: call.modelId,
    requested_model: call.modelFallback?.requestedModelId ?? call.modelId,
    fallback_budget: call.modelFallback?.budgetId ?? null,
    upstream: call.upstreamId,
    upstream_model: call.upstreamModel,
    format: call.product || enumWord(ApiFormat[call.format], 'API_FORMAT_'),
    streaming: call.streaming,
    started_at: instant(call.startedAtMs),
    recorded_at: instant(record.recordedAtMs),
    duration_ms: record.durationMs,
    first_output_ms: record.firstOutputMs ?? null,
    outcome: enumWord(Outcome[record.outcome], 'OUTCOME_'),
    outcome_detail: record.outcomeDetail,
    token_source: enumWord(UsageSource[record.source], 'USAGE_SOURCE_'),
    quarantined: record.quarantined,
    input_tokens: tokens.inputTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_5m_tokens: tokens.cacheWrite5mTokens,
    cache_write_1h_tokens: tokens.cacheWrite1hTokens,
    output_tokens: tokens.outputTokens,
    reasoning_tokens: tokens.reasoningTokens,
    units: tokens.units?.counts ?? [],
    price: {
      id: price.id,
      effective_from: instant(price.effectiveFromMs),
      input_nano_usd_per_mtok: String(price.inputNanoUsdPerMtok),
      cache_read_nano_usd_per_mtok: String(price.cacheReadNanoUsdPerMtok),
      cache_write_5m_nano_usd_per_mtok: String(price.cacheWrite5mNanoUsdPerMtok),
      cache_write_1h_nano_usd_per_mtok: String(price.cacheWrite1hNanoUsdPerMtok),
      output_nano_usd_per_mtok: String(price.outputNanoUsdPerMtok),
      reasoning_nano_usd_per_mtok: price.reasoningNanoUsdPerMtok === undefined ? null : String(price.reasoningNanoUsdPerMtok),
      units: price.units.map(({ unit, nanoUsd, maxPerCall }) => ({ unit, nano_usd: String(nanoUsd), max_per_call: maxPerCall })),
    },
    line_items: record.lineItems.map((item) => ({
      unit: item.unit,
      quantity: item.quantity,
      amount_nano_usd: String(item.amountNanoUsd),
    })),
    held_nano_usd: String(call.heldNanoUsd),
    charge_nano_usd: String(record.chargeNanoUsd),
    captured_nano_usd: settlement === undefined ? null : String(settlement.capturedNanoUsd),
    shortfall_nano_usd: settlement === undefined ? null : String(settlement.shortfallNanoUsd),
    settled_at: settlement === undefined ? null : instant(settlement.settledAtMs),
    output_cap_tokens: call.outputCapTokens,
    unit_caps: call.unitCaps?.counts ?? [],
    trace_id: call.traceId,
    client_request_id: call.clientRequestId,
    attempts: call.attempts.map((attempt) => ({
      upstream: attempt.upstreamId,
      upstream_model: attempt.upstreamModel,
      offset_ms: attempt.offsetMs,
      duration_ms: attempt.durationMs ?? null,
      answered: attempt.answered,
      reason: attempt.reason,
      http_status: attempt.httpStatus,
      upstream_request_id: attempt.upstreamRequestId,
    })),
  };
}

function instant(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}
