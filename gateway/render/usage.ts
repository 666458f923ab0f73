// Renders a usage record as JSON. Amounts are USD as decimal strings.
import type { Static } from 'typebox';
import { enumWord } from '#kit/enum-word.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type ModelFallback, Outcome, PromptLogState, UsageSource, type UsageRecord } from '#proto/metering/v1/metering.js';
import { formatUsd } from '#rules/money/money.js';
import type { PromptLogState as PromptLogStateView, UsageRecordAlone, UsageRecordView } from '../formats/account-schema.js';
import { renderAttempts } from './attempts.js';

type View = Static<typeof UsageRecordView>;

/** Returns the body of GET /v1/usage/{request id}. */
export function renderUsageRecordAlone(record: UsageRecord): Static<typeof UsageRecordAlone> {
  return { ...renderUsageRecord(record), attempts: renderAttempts(record), prompt_log: renderPromptLogState(record) };
}

/** Returns whether the prompt and the answer were logged; null if that is unknown. */
export function renderPromptLogState({ promptLog }: UsageRecord): Static<typeof PromptLogStateView> {
  if (promptLog === PromptLogState.PROMPT_LOG_STATE_UNSPECIFIED) return null;
  return enumWord(PromptLogState[promptLog], 'PROMPT_LOG_STATE_');
}

/** Returns a record as shown in lists. */
export function renderUsageRecord(record: UsageRecord): View {
  const call = record.call!;
  const { settlement } = record;
  return {
    object: 'usage_record',
    request_id: call.id,
    account_id: call.accountId,
    project_id: call.projectId,
    key_id: call.keyId,
    model: call.modelId,
    requested_model: call.modelFallback?.requestedModelId ?? call.modelId,
    fallback_reason: fallbackReason(call.modelFallback),
    format: call.product || enumWord<string>(ApiFormat[call.format], 'API_FORMAT_').replace('_', '-'),
    stream: call.streaming,
    started_at: new Date(Number(call.startedAtMs)).toISOString(),
    first_output_ms: record.firstOutputMs ?? null,
    duration_ms: record.durationMs,
    outcome: enumWord(Outcome[record.outcome], 'OUTCOME_'),
    outcome_detail: record.outcomeDetail === '' ? null : record.outcomeDetail,
    usage_source: enumWord(UsageSource[record.source], 'USAGE_SOURCE_'),
    quarantined: record.quarantined,
    tokens: renderTokens(record.tokens!),
    units: renderUnits(record.tokens!),
    price_version: call.price?.id ?? null,
    line_items: record.lineItems.map((item) => ({
      unit: item.unit,
      quantity: item.quantity,
      price_usd: formatUsd(item.nanoUsd),
      per: item.per,
      amount_usd: formatUsd(item.amountNanoUsd),
    })),
    charge_usd: formatUsd(record.chargeNanoUsd),
    held_usd: formatUsd(call.heldNanoUsd),
    output_cap_tokens: call.outputCapTokens,
    settlement:
      settlement === undefined
        ? null
        : {
            captured_usd: formatUsd(settlement.capturedNanoUsd),
            shortfall_usd: formatUsd(settlement.shortfallNanoUsd),
            settled_at: new Date(Number(settlement.settledAtMs)).toISOString(),
          },
    trace_id: call.traceId === '' ? null : call.traceId,
    client_request_id: call.clientRequestId === '' ? null : call.clientRequestId,
  };
}

function fallbackReason(fallback: ModelFallback | undefined): View['fallback_reason'] {
  return fallback === undefined ? null : { budget_id: fallback.budgetId, spent_percent: fallback.spentPercent };
}

/** Returns the counts in units that are not tokens. */
export function renderUnits({ units }: TokenCounts): View['units'] {
  return (units?.counts ?? []).map(({ unit, count }) => ({ unit, quantity: count }));
}

/** Returns token counts by class. */
export function renderTokens(tokens: TokenCounts): View['tokens'] {
  return {
    input: tokens.inputTokens,
    cache_read: tokens.cacheReadTokens,
    cache_write_5m: tokens.cacheWrite5mTokens,
    cache_write_1h: tokens.cacheWrite1hTokens,
    output: tokens.outputTokens,
    reasoning: tokens.reasoningTokens,
  };
}
