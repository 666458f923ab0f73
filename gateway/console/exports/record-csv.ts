// A usage record as a line of CSV (RFC 4180). Pure.
import { formatUsd } from '#rules/money.js';
import { Outcome, type UsageRecord } from '#proto/metering/v1/metering.js';
import { csvLine } from '../../pages/csv.js';

const columns: readonly [string, (record: UsageRecord) => string | number][] = [
  ['started_at', ({ call }) => new Date(Number(call!.startedAtMs)).toISOString()],
  ['request_id', ({ call }) => call!.id],
  ['project_id', ({ call }) => call!.projectId],
  ['key_id', ({ call }) => call!.keyId],
  ['model', ({ call }) => call!.modelId],
  ['requested_model', ({ call }) => call!.modelFallback?.requestedModelId ?? call!.modelId],
  ['outcome', ({ outcome }) => Outcome[outcome].replace('OUTCOME_', '').toLowerCase()],
  ['input_tokens', ({ tokens }) => tokens!.inputTokens],
  ['cache_read_tokens', ({ tokens }) => tokens!.cacheReadTokens],
  ['cache_write_5m_tokens', ({ tokens }) => tokens!.cacheWrite5mTokens],
  ['cache_write_1h_tokens', ({ tokens }) => tokens!.cacheWrite1hTokens],
  ['output_tokens', ({ tokens }) => tokens!.outputTokens],
  ['reasoning_tokens', ({ tokens }) => tokens!.reasoningTokens],
  ['units', ({ tokens }) => (tokens!.units?.counts ?? []).map(({ unit, count }) => `${unit}=${count}`).join(' ')],
  ['charge_usd', ({ chargeNanoUsd }) => formatUsd(chargeNanoUsd)],
  ['first_output_ms', ({ firstOutputMs }) => firstOutputMs ?? ''],
  ['duration_ms', ({ durationMs }) => durationMs],
  ['stream', ({ call }) => String(call!.streaming)],
  ['trace_id', ({ call }) => call!.traceId],
  ['client_request_id', ({ call }) => call!.clientRequestId],
];

/** The header line. */
export const recordCsvHead = csvLine(columns.map(([name]) => name));

/** Returns the line of a record. */
export function recordCsvLine(record: UsageRecord): string {
  return csvLine(columns.map(([, value]) => value(record)));
}
