// How lists are paged: ?limit=…&cursor=…, where the cursor is the `next` of the page before. Pure.
import type { Context } from 'koa';
import { AppError } from '#client/errors/app-error.js';

const pageSizeMax = 200;
const pageSizeDefault = 50;

/** The first value of a parameter of the address; empty when there is none. */
export function queryText(ctx: Context, name: string): string {
  return [ctx.query[name] ?? ''].flat()[0] ?? '';
}

/** The page that is asked for. Raises invalid_request. */
export function pageOf(ctx: Context): { pageSize: number; pageToken: string } {
  const limit = queryText(ctx, 'limit');
  const pageSize = limit === '' ? pageSizeDefault : Number(limit);
  if (!/^\d{0,4}$/.test(limit) || pageSize < 1 || pageSize > pageSizeMax) {
    throw new AppError('invalid_request', `limit: must be a whole number from 1 to ${pageSizeMax}`, { details: { field: 'limit' } });
  }
  return { pageSize, pageToken: queryText(ctx, 'cursor') };
}
