// Usage of an account: calls, what they used and cost, and sums over them.
import type {
  Attempt,
  Outcome,
  PromptLog,
  RecordHold,
  RecordList,
  RecordSearch as Search,
  TokenSums,
  UsageFilter as Filter,
  UsageGrouping as Grouping,
  UsagePerformance,
  UsageRecord,
  UsageRecordDetail,
  UsageTotal,
} from '../../../gateway/console/schemas/usage.js';
import { api, apiUrl, type Page, type Query } from './client.js';

export type { Attempt, Outcome, PromptLog, RecordHold, TokenSums, UsagePerformance, UsageRecord, UsageRecordDetail, UsageTotal };

// An address can hold any text.
type FromAddress<F> = Omit<F, 'outcome'> & { readonly outcome?: string };
/** All parts that are set must match; `from` and `until` are instants. */
export type UsageFilter = FromAddress<Filter>;
/** The records of a filter, or one by its whole id if it matches the rest. */
export type RecordSearch = FromAddress<Search>;

/** How calls end, in the order of the filter (docs/charging.md). */
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
] as const satisfies readonly Outcome[];

/** The possible outcomes of an attempt at an upstream. */
export type AttemptOutcome = Attempt['outcome'];

/** How sums are grouped; days and hours have an offset in minutes east of UTC. */
export type UsageGrouping = Omit<Grouping, 'tz_offset'> & { readonly tz_offset?: number };

const usageOf = (accountId: string): string => `/accounts/${accountId}/usage`;
const queryOf = (parts: object): Query => parts as Query;

/** A page of records. */
export type RecordPage = Page<UsageRecord> & Pick<RecordList, 'newest_only'>;

/** Newest first, or the highest of `sort` first. */
export const listRecords = (
  accountId: string,
  search: RecordSearch & { readonly sort?: string | undefined; readonly limit?: number; readonly cursor?: string | null },
  signal?: AbortSignal,
): Promise<RecordPage> => api.get(`${usageOf(accountId)}/records`, { query: queryOf(search), signal });

export const getRecord = (accountId: string, requestId: string, signal?: AbortSignal): Promise<UsageRecordDetail> =>
  api.get(`${usageOf(accountId)}/records/${encodeURIComponent(requestId)}`, { signal });

export const getRecordHold = (accountId: string, requestId: string, signal?: AbortSignal): Promise<RecordHold> =>
  api.get(`${usageOf(accountId)}/records/${encodeURIComponent(requestId)}/hold`, { signal });

const promptOf = (accountId: string, requestId: string): string => `${usageOf(accountId)}/records/${encodeURIComponent(requestId)}/prompt`;

/** Each time is recorded in the audit log of the account. */
export const getPrompt = (accountId: string, requestId: string): Promise<PromptLog> => api.get(promptOf(accountId, requestId));

export const deletePrompt = (accountId: string, requestId: string): Promise<void> => api.delete(promptOf(accountId, requestId));

/** The newest calls that failed. */
export const listErrors = (accountId: string, limit: number, signal?: AbortSignal): Promise<{ readonly data: readonly UsageRecord[] }> =>
  api.get(`${usageOf(accountId)}/errors`, { query: { limit }, signal });

/** Days and hours in order, other groups most expensive first; without grouping, one sum. */
export const getTotals = (
  accountId: string,
  filter: UsageFilter & UsageGrouping,
  signal?: AbortSignal,
): Promise<{ readonly data: readonly UsageTotal[] }> => api.get(`${usageOf(accountId)}/totals`, { query: queryOf(filter), signal });

/** How fast and how reliable the newest calls of a filter were. */
export const getPerformance = (
  accountId: string,
  filter: UsageFilter & { readonly group_by: 'model' | 'upstream' },
  signal?: AbortSignal,
): Promise<UsagePerformance> => api.get(`${usageOf(accountId)}/performance`, { query: queryOf(filter), signal });

/** Returns the download address of exactly these records. */
export const exportUrl = (accountId: string, search: RecordSearch, format: 'csv' | 'jsonl'): string =>
  apiUrl(`${usageOf(accountId)}/export`, queryOf({ ...search, format }));
