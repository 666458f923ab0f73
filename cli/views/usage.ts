// The output of usage records and totals.
import { ApiFormat, TargetChoice } from '#proto/inference/v1/inference.js';
import {
  type Attempt,
  Outcome,
  type GetUsageTotalsResponse_Group,
  GroupBy,
  type LineItem,
  type UsageRecord,
  UsageSource,
} from '#proto/metering/v1/metering.js';
import { type Column, instant, instantJson, type JsonObject, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';
import { tokenClasses } from '#rules/money/pricing.js';

const choices = wordsOf<TargetChoice>(TargetChoice, 'TARGET_CHOICE_');

/** The words for the metering service's enums. */
export const usageWords = {
  outcome: wordsOf<Outcome>(Outcome, 'OUTCOME_'),
  groupBy: wordsOf<GroupBy>(GroupBy, 'GROUP_BY_'),
};

const formats = wordsOf<ApiFormat>(ApiFormat, 'API_FORMAT_');
const sources = wordsOf<UsageSource>(UsageSource, 'USAGE_SOURCE_');

function inputTokens(record: UsageRecord): number {
  const tokens = record.tokens;
  return (
    (tokens?.inputTokens ?? 0) + (tokens?.cacheReadTokens ?? 0) + (tokens?.cacheWrite5mTokens ?? 0) + (tokens?.cacheWrite1hTokens ?? 0)
  );
}

/** Returns one line of the calculation of a charge: "120 × $0.1/M = $0.000012", "2 × $0.01 = $0.02". */
function arithmetic({ quantity, nanoUsd, per, amountNanoUsd }: LineItem): string {
  return `${quantity} × ${usd(nanoUsd)}${per === 1 ? '' : '/M'} = ${usd(amountNanoUsd)}`;
}

/** Returns counts in units that are not tokens: "request 1, web_search 2". */
function unitsText({ tokens }: UsageRecord): string {
  return tokens?.units?.counts.map(({ unit, count }) => `${unit} ${count}`).join(', ') ?? '';
}

function recordJson(record: UsageRecord): JsonObject {
  const { call, tokens, settlement } = record;
  return {
    id: call?.id ?? '',
    account_id: call?.accountId ?? '',
    project_id: call?.projectId ?? '',
    key_id: call?.keyId ?? '',
    model_id: call?.modelId ?? '',
    requested_model_id: call?.modelFallback?.requestedModelId ?? call?.modelId ?? '',
    fallback_budget_id: call?.modelFallback?.budgetId ?? null,
    fallback_spent_percent: call?.modelFallback?.spentPercent ?? null,
    upstream_id: call?.upstreamId ?? '',
    upstream_model: call?.upstreamModel ?? '',
    format: call?.product || formats.of(call?.format ?? ApiFormat.API_FORMAT_UNSPECIFIED),
    streaming: call?.streaming ?? false,
    started_at: instantJson(call?.startedAtMs),
    duration_ms: record.durationMs,
    first_output_ms: record.firstOutputMs ?? null,
    outcome: usageWords.outcome.of(record.outcome),
    outcome_detail: record.outcomeDetail,
    input_tokens: tokens?.inputTokens ?? 0,
    cache_read_tokens: tokens?.cacheReadTokens ?? 0,
    cache_write_5m_tokens: tokens?.cacheWrite5mTokens ?? 0,
    cache_write_1h_tokens: tokens?.cacheWrite1hTokens ?? 0,
    output_tokens: tokens?.outputTokens ?? 0,
    reasoning_tokens: tokens?.reasoningTokens ?? 0,
    units: (tokens?.units?.counts ?? []).map(({ unit, count }) => ({ unit, quantity: count })),
    token_source: sources.of(record.source),
    quarantined: record.quarantined,
    ...usdJson('charge', record.chargeNanoUsd),
    line_items: record.lineItems.map((item) => ({
      unit: item.unit,
      quantity: item.quantity,
      per: item.per,
      ...usdJson('price', item.nanoUsd),
      ...usdJson('amount', item.amountNanoUsd),
    })),
    price_id: call?.price?.id ?? null,
    ...usdJson('held', call?.heldNanoUsd),
    settled_at: instantJson(settlement?.settledAtMs),
    ...usdJson('captured', settlement?.capturedNanoUsd),
    ...usdJson('shortfall', settlement?.shortfallNanoUsd),
    attempts: (call?.attempts ?? []).map((attempt) => ({
      upstream_id: attempt.upstreamId,
      upstream_model: attempt.upstreamModel,
      started_at: instantJson(call!.startedAtMs + BigInt(attempt.offsetMs)),
      duration_ms: attempt.durationMs ?? null,
      answered: attempt.answered,
      reason: attempt.reason || null,
      http_status: attempt.httpStatus || null,
      upstream_request_id: attempt.upstreamRequestId || null,
      chosen_by: attempt.choice ? choices.of(attempt.choice) : 'weight',
      credential: attempt.credentialId ?? null,
    })),
    trace_id: call?.traceId || null,
    client_request_id: call?.clientRequestId || null,
    recorded_at: instantJson(record.recordedAtMs),
  };
}

function settlementText({ settlement }: UsageRecord): string {
  if (settlement === undefined) return 'not yet';
  const shortfall = settlement.shortfallNanoUsd === 0n ? '' : `, ${usd(settlement.shortfallNanoUsd)} borne by the operator`;
  return `${usd(settlement.capturedNanoUsd)} captured at ${instant(settlement.settledAtMs)}${shortfall}`;
}

/** "1. own:small failed after 30 ms (upstream_overloaded, status 503, their req_1); 2. spare:large answered". */
function attemptsText({ call }: UsageRecord): string {
  const each = (call?.attempts ?? []).map(
    (attempt, index) => `${index + 1}. ${attempt.upstreamId}:${attempt.upstreamModel} ${outcomeText(attempt)}`,
  );
  return each.join('; ');
}

function outcomeText({ answered, reason, durationMs, httpStatus, upstreamRequestId, choice, credentialId }: Attempt): string {
  const outcome = answered ? (reason === '' ? 'answered' : 'broke off') : reason === '' ? 'was in progress' : 'failed';
  const details = [
    reason,
    httpStatus === 0 ? '' : `status ${httpStatus}`,
    upstreamRequestId === '' ? '' : `their ${upstreamRequestId}`,
    choice ? `chosen by ${choices.of(choice)}` : '',
    credentialId === undefined ? '' : `credential ${credentialId}`,
  ].filter((part) => part !== '');
  return `${outcome}${durationMs === undefined ? '' : ` after ${durationMs} ms`}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
}

function lineColumn(unit: string): Column<UsageRecord> {
  return {
    title: unit.replaceAll('_', ' '),
    text: (record) =>
      record.lineItems
        .filter((item) => item.unit === unit)
        .map(arithmetic)
        .join(', '),
  };
}

/** Returns the lines of units that are not tokens: "request 1 × $0.001 = $0.001". */
function unitLines({ lineItems }: UsageRecord): string {
  return lineItems
    .filter(({ per }) => per === 1)
    .map((item) => `${item.unit} ${arithmetic(item)}`)
    .join(', ');
}

/** "openai/gpt-5-mini in place of openai/gpt-5 (bud_…, 81 % spent)". */
function modelText({ call }: UsageRecord): string {
  const { modelId = '', modelFallback: fallback } = call ?? {};
  if (fallback === undefined) return modelId;
  return `${modelId} in place of ${fallback.requestedModelId} (${fallback.budgetId}, ${fallback.spentPercent} % spent)`;
}

/** One call. */
export const recordView: View<UsageRecord> = {
  json: recordJson,
  columns: [
    { title: 'started', text: (record) => instant(record.call?.startedAtMs) },
    { title: 'call', text: (record) => record.call?.id ?? '' },
    { title: 'model', text: (record) => record.call?.modelId ?? '' },
    { title: 'in', text: (record) => inputTokens(record).toString(), align: 'right' },
    { title: 'out', text: (record) => (record.tokens?.outputTokens ?? 0).toString(), align: 'right' },
    { title: 'units', text: unitsText },
    { title: 'charge', text: (record) => usd(record.chargeNanoUsd), align: 'right' },
    { title: 'ms', text: (record) => record.durationMs.toString(), align: 'right' },
    { title: 'outcome', text: (record) => usageWords.outcome.of(record.outcome) },
  ],
  details: [
    { title: 'call', text: (record) => record.call?.id ?? '' },
    { title: 'started', text: (record) => instant(record.call?.startedAtMs) },
    { title: 'account', text: (record) => record.call?.accountId ?? '' },
    { title: 'project', text: (record) => record.call?.projectId ?? '' },
    { title: 'key', text: (record) => record.call?.keyId ?? '' },
    { title: 'model', text: modelText },
    { title: 'upstream', text: ({ call }) => (call?.upstreamId ? `${call.upstreamId}:${call.upstreamModel}` : '') },
    { title: 'attempts', text: attemptsText },
    {
      title: 'outcome',
      text: (record) => `${usageWords.outcome.of(record.outcome)}${record.outcomeDetail === '' ? '' : ` (${record.outcomeDetail})`}`,
    },
    { title: 'first output', text: (record) => (record.firstOutputMs === undefined ? '' : `${record.firstOutputMs} ms`) },
    { title: 'duration', text: (record) => `${record.durationMs} ms` },
    ...tokenClasses.map(lineColumn),
    { title: 'other units', text: unitLines },
    { title: 'charge', text: (record) => usd(record.chargeNanoUsd) },
    { title: 'price', text: (record) => record.call?.price?.id ?? '' },
    {
      title: 'tokens',
      text: (record) => `${sources.of(record.source)}${record.quarantined ? ', the usage that the upstream reported was not used' : ''}`,
    },
    { title: 'held', text: (record) => usd(record.call?.heldNanoUsd ?? 0n) },
    { title: 'settled', text: settlementText },
    { title: 'trace', text: (record) => record.call?.traceId ?? '' },
  ],
};

/** Returns the view of totals by groups, and by groups within each of them. */
export function totalView(by: GroupBy, thenBy: GroupBy): View<GetUsageTotalsResponse_Group> {
  const columns: Column<GetUsageTotalsResponse_Group>[] = [];
  if (by !== GroupBy.GROUP_BY_UNSPECIFIED) columns.push({ title: usageWords.groupBy.of(by), text: ({ name }) => name || '-' });
  if (thenBy !== GroupBy.GROUP_BY_UNSPECIFIED)
    columns.push({ title: usageWords.groupBy.of(thenBy), text: ({ thenName }) => thenName || '-' });
  return { ...ungroupedView, columns: [...columns, ...ungroupedView.columns] };
}

const ungroupedView: View<GetUsageTotalsResponse_Group> = {
  json: (group) => ({
    name: group.name,
    then_name: group.thenName || null,
    calls: Number(group.calls),
    errors: Number(group.errors),
    quarantined: Number(group.quarantined),
    mean_duration_ms: group.calls === 0n ? null : Math.round(Number(group.durationMs) / Number(group.calls)),
    mean_first_output_ms: group.firstOutputCalls === 0n ? null : Math.round(Number(group.firstOutputMs) / Number(group.firstOutputCalls)),
    ...usdJson('charge', group.chargeNanoUsd),
    input_tokens: Number(group.inputTokens),
    cache_read_tokens: Number(group.cacheReadTokens),
    cache_write_tokens: Number(group.cacheWriteTokens),
    output_tokens: Number(group.outputTokens),
    reasoning_tokens: Number(group.reasoningTokens),
    units: group.units.map(({ unit, quantity, chargeNanoUsd }) => ({
      unit,
      quantity: Number(quantity),
      ...usdJson('charge', chargeNanoUsd),
    })),
  }),
  columns: [
    { title: 'calls', text: (group) => group.calls.toString(), align: 'right' },
    { title: 'errors', text: (group) => group.errors.toString(), align: 'right' },
    { title: 'charge', text: (group) => usd(group.chargeNanoUsd), align: 'right' },
    { title: 'input', text: (group) => group.inputTokens.toString(), align: 'right' },
    { title: 'cache read', text: (group) => group.cacheReadTokens.toString(), align: 'right' },
    { title: 'cache write', text: (group) => group.cacheWriteTokens.toString(), align: 'right' },
    { title: 'output', text: (group) => group.outputTokens.toString(), align: 'right' },
    { title: 'reasoning', text: (group) => group.reasoningTokens.toString(), align: 'right' },
    { title: 'units', text: ({ units }) => units.map(({ unit, quantity }) => `${unit} ${quantity}`).join(', ') },
  ],
};
