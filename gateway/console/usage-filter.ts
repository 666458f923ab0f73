// The filter of usage records, all of it in the address. Pure.
import type { Context } from 'koa';
import { AppError } from '#kit/errors/app-error.js';
import { Ending, GroupBy, type UsageFilter } from '#proto/metering/v1/metering.js';
import { queryText } from './paging.js';

/** Reads ?key=…&model=…&ending=…&from=…&until=… Raises invalid_request that names the parameter. */
export function usageFilterOf(ctx: Context, accountId: string): UsageFilter {
  const endingText = queryText(ctx, 'ending');
  const ending = endingText === '' ? Ending.ENDING_UNSPECIFIED : word(Ending, 'ENDING_', endingText, 'ending');
  return { accountId, keyId: queryText(ctx, 'key'), modelId: queryText(ctx, 'model'), fromMs: instant(ctx, 'from'), untilMs: instant(ctx, 'until'), ending };
}

/** Reads ?group_by=key, model, day or ending; one group over all when it is absent. */
export function groupByOf(ctx: Context): GroupBy {
  const text = queryText(ctx, 'group_by');
  return text === '' ? GroupBy.GROUP_BY_UNSPECIFIED : word(GroupBy, 'GROUP_BY_', text, 'group_by');
}

function word<E extends number>(values: Readonly<Record<string, string | number>>, prefix: string, text: string, name: string): E {
  const words = Object.keys(values).filter((key) => key.startsWith(prefix) && typeof values[key] === 'number' && (values[key] as number) > 0);
  const known = words.find((key) => key.slice(prefix.length).toLowerCase() === text);
  if (known !== undefined) return values[known] as E;
  const choice = words.map((key) => key.slice(prefix.length).toLowerCase()).join(', ');
  throw new AppError('invalid_request', `${name}: must be one of ${choice}`, { details: { field: name } });
}

function instant(ctx: Context, name: string): bigint {
  const text = queryText(ctx, name);
  if (text === '') return 0n;
  const ms = /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms) || ms < 0) throw new AppError('invalid_request', `${name}: must be a date or an instant such as 2026-11-20 or 2026-11-20T12:00:00Z`, { details: { field: name } });
  return BigInt(ms);
}
