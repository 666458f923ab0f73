// Calls of an account that were refused, and their counts.
import type { Refusal, RefusalSearch, RefusalTotal, RefusalTotals } from '../../../gateway/console/schemas/refusals.js';
import { api, type Page, type Query } from './client.js';

export type { Refusal, RefusalTotal };

/** The filter; an empty text is no filter. `reason` may be any text, because it can come from an address. */
export type RefusalFilter = { readonly [name in keyof Required<RefusalSearch>]: string };

/** Newest first. */
export const listRefusals = (
  accountId: string,
  filter: Partial<RefusalFilter>,
  cursor: string | null,
  signal?: AbortSignal,
): Promise<Page<Refusal>> => api.get(`/accounts/${accountId}/refusals`, { query: { ...filter, cursor } as Query, signal });

/** Counts all refused calls, the most frequent group first. */
export const getRefusalTotals = (
  accountId: string,
  filter: Partial<Omit<RefusalFilter, 'request_id'>> & Pick<RefusalTotals, 'group_by' | 'then_by' | 'tz_offset'>,
  signal?: AbortSignal,
): Promise<{ readonly data: readonly RefusalTotal[] }> =>
  api.get(`/accounts/${accountId}/refusal-totals`, { query: filter as Query, signal });
