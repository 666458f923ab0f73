// The filter of usage records, all of it in the address. Pure.
import type { Context } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { Outcome, GroupBy, type UsageFilter } from '#proto/metering/v1/metering.js';
import { queryText } from './paging.js';

/** Of the zones of the world. */
const offsetMinutesMin = -720;
const offsetMinutesMax = 840;

/** Reads ?key=…&model=…&outcome=…&from=…&until=… Raises invalid_request that names the parameter. */
export function usageFilterOf(ctx: Context, accountId: string): UsageFilter {
  const outcomeText = queryText(ctx, 'outcome');
  const outcome = outcomeText === '' ? Outcome.OUTCOME_UNSPECIFIED : word(Outcome, 'OUTCOME_', outcomeText, 'outcome');
  return {
    accountId,
    keyId: queryText(ctx, 'key'),
    modelId: queryText(ctx, 'model'),
    fromMs: instantOf(ctx, 'from'),
    untilMs: instantOf(ctx, 'until'),
    outcome,
  };
}

/** What sums are grouped by. */
export interface UsageGrouping {
  readonly groupBy: GroupBy;
  readonly thenBy: GroupBy;
  readonly offsetMinutes: number;
}

/**
 * Reads ?group_by=…&then_by=… (each key, model, day, hour or outcome; one group over all when both are absent) and ?tz_offset=…, the
 * minutes east of UTC by which days and hours are cut. Raises invalid_request that names the parameter.
 */
export function usageGroupingOf(ctx: Context): UsageGrouping {
  const groupBy = groupByOf(ctx, 'group_by');
  const thenBy = groupByOf(ctx, 'then_by');
  if (thenBy !== GroupBy.GROUP_BY_UNSPECIFIED && groupBy === GroupBy.GROUP_BY_UNSPECIFIED) throw invalid('then_by', 'needs group_by');
  if (thenBy !== GroupBy.GROUP_BY_UNSPECIFIED && thenBy === groupBy) throw invalid('then_by', 'must differ from group_by');
  return { groupBy, thenBy, offsetMinutes: offsetOf(ctx) };
}

function groupByOf(ctx: Context, name: string): GroupBy {
  const text = queryText(ctx, name);
  return text === '' ? GroupBy.GROUP_BY_UNSPECIFIED : word(GroupBy, 'GROUP_BY_', text, name);
}

function offsetOf(ctx: Context): number {
  const text = queryText(ctx, 'tz_offset');
  // In an address a bare + stands for a space.
  const minutes = text === '' ? 0 : /^[ +-]?\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(minutes >= offsetMinutesMin && minutes <= offsetMinutesMax) || minutes % 15 !== 0) {
    throw invalid('tz_offset', `must be minutes east of UTC, a multiple of 15 from ${offsetMinutesMin} to ${offsetMinutesMax}`);
  }
  // A minus before a zero is no other zero.
  return minutes === 0 ? 0 : minutes;
}

function invalid(name: string, must: string): AppError {
  return new AppError('invalid_request', `${name}: ${must}`, { details: { field: name } });
}

function word<E extends number>(values: Readonly<Record<string, string | number>>, prefix: string, text: string, name: string): E {
  const words = Object.keys(values).filter(
    (key) => key.startsWith(prefix) && typeof values[key] === 'number' && (values[key] as number) > 0,
  );
  const known = words.find((key) => key.slice(prefix.length).toLowerCase() === text);
  if (known !== undefined) return values[known] as E;
  const choice = words.map((key) => key.slice(prefix.length).toLowerCase()).join(', ');
  throw invalid(name, `must be one of ${choice}`);
}

/** An instant of the address; 0 for none. Raises invalid_request that names the parameter. */
export function instantOf(ctx: Context, name: string): bigint {
  const text = queryText(ctx, name);
  if (text === '') return 0n;
  const ms = /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms) || ms < 0) throw invalid(name, 'must be a date or an instant such as 2026-11-20 or 2026-11-20T12:00:00Z');
  return BigInt(ms);
}
