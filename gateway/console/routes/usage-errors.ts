// The newest calls of an account that failed.
import type { Context, Middleware } from 'koa';
import { errorOutcomes } from '#rules/outcomes.js';
import { type Outcome, UsageFilter, type UsageRecord } from '#proto/metering/v1/metering.js';
import { renderUsageRecord } from '../../render/usage.js';
import { contextOf } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { pageOf } from '../paging.js';
import { accountOf } from '../session.js';

/** GET usage/errors?limit=…: a range of an index for each way to fail, so it is fast also where nothing has. */
export function listErrors(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { pageSize } = pageOf(ctx);
    const newest = (outcome: Outcome) =>
      deps.peers.metering.listUsageRecords(
        { filter: UsageFilter.fromPartial({ accountId, outcome }), pageSize, pageToken: '' },
        contextOf(deps),
      );
    const found = (await Promise.all(errorOutcomes.map(newest))).flatMap(({ records }) => records);
    ctx.body = { data: found.toSorted(newestFirst).slice(0, pageSize).map(renderUsageRecord) };
  };
}

function newestFirst(a: UsageRecord, b: UsageRecord): number {
  const [one, other] = [a.call!, b.call!];
  if (one.startedAtMs !== other.startedAtMs) return one.startedAtMs < other.startedAtMs ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}
