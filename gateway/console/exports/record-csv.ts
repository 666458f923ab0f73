// A usage record as a line of CSV (RFC 4180). Pure.
import { formatUsd } from '#rules/money/money.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { Outcome, type UsageRecord } from '#proto/metering/v1/metering.js';
import { csvLine } from '../../pages/csv.js';

/** Names of keys and projects by id. */
export interface RecordNames {
  readonly keys: ReadonlyMap<string, string>;
  readonly projects: ReadonlyMap<string, string>;
  /** The ids of the users who created the keys, by key. */
  readonly creators: ReadonlyMap<string, string>;
}

const price = (pick: (price: PriceVersion) => bigint | undefined) => (record: UsageRecord) => {
  const nanoUsd = record.call!.price === undefined ? undefined : pick(record.call!.price);
  return nanoUsd === undefined ? '' : formatUsd(nanoUsd);
};

/** Programs read the columns by name, so names are never changed or reused; new columns are appended. docs/csv.md describes them. */
const columns: readonly [string, (record: UsageRecord, names: RecordNames) => string | number][] = [
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
  ['key_name', ({ call }, { keys }) => keys.get(call!.keyId) ?? ''],
  ['project_name', ({ call }, { projects }) => projects.get(call!.projectId) ?? ''],
  ['reason', ({ outcomeDetail }) => outcomeDetail],
  ['price_version', ({ call }) => call!.price?.id ?? ''],
  ['input_usd_per_mtok', price((version) => version.inputNanoUsdPerMtok)],
  ['cache_read_usd_per_mtok', price((version) => version.cacheReadNanoUsdPerMtok)],
  ['cache_write_5m_usd_per_mtok', price((version) => version.cacheWrite5mNanoUsdPerMtok)],
  ['cache_write_1h_usd_per_mtok', price((version) => version.cacheWrite1hNanoUsdPerMtok)],
  ['output_usd_per_mtok', price((version) => version.outputNanoUsdPerMtok)],
  ['reasoning_usd_per_mtok', price((version) => version.reasoningNanoUsdPerMtok)],
  ['unit_prices_usd', ({ call }) => (call!.price?.units ?? []).map(({ unit, nanoUsd }) => `${unit}=${formatUsd(nanoUsd)}`).join(' ')],
  ['key_created_by', ({ call }, { creators }) => creators.get(call!.keyId) ?? ''],
];

/** The names of the columns. */
export const recordColumns = columns.map(([name]) => name);

/** The header line. */
export const recordCsvHead = csvLine(recordColumns);

/** Returns the line of a record. */
export function recordCsvLine(record: UsageRecord, names: RecordNames): string {
  return csvLine(columns.map(([, value]) => value(record, names)));
}
