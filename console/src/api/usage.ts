// Usage of an account: calls, what they used and cost, and sums over them.
import { api, apiUrl, type Page, type Query } from './client.js';

/** How calls end (docs/charging.md). */
export const outcomes = [
  'completed',
  'max_tokens',
  'client_disconnected',
  'rejected',
  'upstream_error_before_output',
  'upstream_error_after_output',
  'timeout',
  'gateway_error',
  'gateway_lost',
] as const;
export type Outcome = (typeof outcomes)[number];

/** The classes of tokens that are priced apart. */
export type TokenClass = 'input' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h' | 'output' | 'reasoning';

/** One class of tokens in a charge. */
export interface LineItem {
  readonly kind: TokenClass;
  readonly tokens: number;
  readonly usd_per_million_tokens: string;
  readonly amount_usd: string;
}

/** What can become of an attempt: the answer came from it, it broke off, it failed before it answered, or the call ended before any of these. */
export type AttemptOutcome = 'answered' | 'broke_off' | 'failed' | 'abandoned';

/** One attempt of a call at one upstream. */
export interface Attempt {
  readonly number: number;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly outcome: AttemptOutcome;
  /** A reason of the list of errors. */
  readonly reason: string | null;
  /** The rest: to operators alone. */
  readonly upstream?: { readonly id: string; readonly model: string };
  readonly http_status?: number | null;
  readonly upstream_request_id?: string | null;
}

/** One call. Amounts are decimal-string USD. */
export interface UsageRecord {
  readonly request_id: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly model: string;
  readonly format: string;
  readonly stream: boolean;
  readonly started_at: string;
  /** Null: there was no output. */
  readonly first_output_ms: number | null;
  readonly duration_ms: number;
  readonly outcome: Outcome;
  readonly outcome_detail: string | null;
  readonly usage_source: 'reported' | 'estimated';
  readonly quarantined: boolean;
  readonly tokens: {
    readonly input: number;
    readonly cache_read: number;
    readonly cache_write_5m: number;
    readonly cache_write_1h: number;
    readonly output: number;
    readonly reasoning: number;
  };
  readonly price_version: string | null;
  readonly line_items: readonly LineItem[];
  readonly charge_usd: string;
  readonly held_usd: string;
  readonly output_cap_tokens: number;
  /** Null: the ledger has not answered yet. */
  readonly settlement: { readonly captured_usd: string; readonly shortfall_usd: string; readonly settled_at: string } | null;
  readonly trace_id: string | null;
  readonly client_request_id: string | null;
  /** Of a single record, in order; none: none had answered or failed when the call ended, or they were not kept yet. */
  readonly attempts?: readonly Attempt[];
  /** Of a single record, to operators alone. */
  readonly upstream?: { readonly id: string; readonly model: string };
}

/** What the ledger set aside for a call, and what became of it. */
export interface RecordHold {
  readonly state: 'open' | 'settled' | 'released' | 'expired';
  readonly amount_usd: string;
  readonly captured_usd: string;
  readonly shortfall_usd: string;
  /** Given back since. */
  readonly refunded_usd: string;
  readonly created_at: string;
  readonly expires_at: string;
}

/** Sums over calls. */
export interface UsageTotal {
  /** Null where nothing is grouped. */
  readonly name: string | null;
  readonly then_name: string | null;
  readonly calls: number;
  /** Calls that failed; neither a caller who left nor an output cap that was reached. */
  readonly errors: number;
  readonly charge_usd: string;
  readonly tokens: TokenSums;
  readonly mean_duration_ms: number | null;
  /** Over the calls that had output; null where none had. */
  readonly mean_first_output_ms: number | null;
}

/** Tokens by class. `output` includes `reasoning`; `input` has none from caches. */
export interface TokenSums {
  readonly input: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Parts that are given must all match; `from` and `until` are instants. */
export interface UsageFilter {
  readonly key?: string;
  readonly model?: string;
  readonly outcome?: string;
  readonly from?: string;
  readonly until?: string;
}

/** By what sums are grouped; days and hours are cut so many minutes east of UTC. */
export interface UsageGrouping {
  readonly group_by?: 'key' | 'model' | 'day' | 'hour' | 'outcome';
  readonly then_by?: 'key' | 'model' | 'day' | 'hour' | 'outcome';
  readonly tz_offset?: number;
}

/** Which records: those of a filter, or one by its whole id if it fits the rest. */
export type RecordSearch = UsageFilter & { readonly request_id?: string };

const usageOf = (accountId: string): string => `/accounts/${accountId}/usage`;
const queryOf = (parts: object): Query => parts as Query;

/** Newest first. */
export const listRecords = (
  accountId: string,
  search: RecordSearch & { readonly limit?: number; readonly cursor?: string | null },
  signal?: AbortSignal,
): Promise<Page<UsageRecord>> => api.get(`${usageOf(accountId)}/records`, { query: queryOf(search), signal });

export const getRecord = (accountId: string, requestId: string, signal?: AbortSignal): Promise<UsageRecord> =>
  api.get(`${usageOf(accountId)}/records/${encodeURIComponent(requestId)}`, { signal });

export const getRecordHold = (accountId: string, requestId: string, signal?: AbortSignal): Promise<RecordHold> =>
  api.get(`${usageOf(accountId)}/records/${encodeURIComponent(requestId)}/hold`, { signal });

/** The newest calls that failed. */
export const listErrors = (accountId: string, limit: number, signal?: AbortSignal): Promise<{ readonly data: readonly UsageRecord[] }> =>
  api.get(`${usageOf(accountId)}/errors`, { query: { limit }, signal });

/** Days and hours in order, other groups dearest first; ungrouped, one. */
export const getTotals = (
  accountId: string,
  filter: UsageFilter & UsageGrouping,
  signal?: AbortSignal,
): Promise<{ readonly data: readonly UsageTotal[] }> => api.get(`${usageOf(accountId)}/totals`, { query: queryOf(filter), signal });

/** Where a file of exactly these records is downloaded. */
export const exportUrl = (accountId: string, search: RecordSearch, format: 'csv' | 'jsonl'): string =>
  apiUrl(`${usageOf(accountId)}/export`, queryOf({ ...search, format }));
