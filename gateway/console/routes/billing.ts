// Balance and billing of an account: what there is, what is held, and what was entered.
import type { Context, Middleware } from 'koa';
import { ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { contextOf } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { pageOf } from '../paging.js';
import { renderLow } from '../render/alerts.js';
import { renderBalance, renderEntry, renderHold } from '../render/money.js';
import { orNull } from '../render/values.js';
import { accountOf } from '../session.js';

/** GET balance, and whether it is low. */
export function getBalance(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const [{ balance }, alert] = await Promise.all([
      deps.peers.ledger.getBalance({ accountId }, contextOf(deps)),
      deps.peers.alerts.getAlert({ accountId }, contextOf(deps)),
    ]);
    ctx.body = { ...renderBalance(balance!), ...renderLow(alert) };
  };
}

/** GET holds: money of calls in flight. */
export function listHolds(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { holds } = await deps.peers.ledger.listOpenHolds({ accountId, pageSize: pageOf(ctx).pageSize }, contextOf(deps));
    ctx.body = { data: holds.map(renderHold) };
  };
}

/** GET entries: the statement, newest first. */
export function listEntries(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { entries, nextPageToken } = await deps.peers.ledger.listEntries(
      ListEntriesRequest.fromPartial({ accountId, ...pageOf(ctx) }),
      contextOf(deps),
    );
    ctx.body = { data: entries.map(renderEntry), next: orNull(nextPageToken) };
  };
}
