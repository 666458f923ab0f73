// Puts newly ended calls on top of a list that was loaded page by page. Pure.
import type { InfiniteData } from '@tanstack/react-query';
import type { RecordPage, UsageRecord } from '../../../api/usage.js';

export type Loaded = InfiniteData<RecordPage, string | null>;

/** How many rows may come on top of the list. A page that stays open on a busy account would otherwise become too slow to use. */
const topMax = 500;

/**
 * Merges the newest page of the same search into the list: adds new calls and updates others. If a full page has only new calls, calls may
 * be missing between it and the list, which is then replaced by that page; so is a list whose top has become too long.
 */
export function withNewest(loaded: Loaded, newest: RecordPage): { loaded: Loaded; added: number } {
  const [first, ...others] = loaded.pages;
  if (first === undefined) return { loaded, added: 0 };
  const known = new Set(loaded.pages.flatMap(({ data }) => data.map(({ request_id }) => request_id)));
  const added = newest.data.filter(({ request_id }) => !known.has(request_id));
  const isTooLong = first.data.length + added.length > topMax;
  if ((isTooLong || added.length === newest.data.length) && newest.next !== null) {
    return { loaded: { pages: [newest], pageParams: [null] }, added: known.size === 0 ? 0 : added.length };
  }
  const fresh = new Map(newest.data.map((record) => [record.request_id, record]));
  const present = (page: RecordPage): RecordPage => ({
    ...page,
    data: page.data.map((record) => fresh.get(record.request_id) ?? record),
  });
  // A long call can end after shorter ones that began later; it is placed by its start.
  const top = [...added, ...present(first).data].toSorted(newestFirst);
  return { loaded: { ...loaded, pages: [{ ...first, data: top }, ...others.map(present)] }, added: added.length };
}

/** Compares calls in the API's order. */
function newestFirst(a: UsageRecord, b: UsageRecord): number {
  if (a.started_at !== b.started_at) return a.started_at < b.started_at ? 1 : -1;
  return a.request_id < b.request_id ? 1 : -1;
}
