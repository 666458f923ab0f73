// The audit log over everything, for operators: found, exported, and shown to be as it was written.
import { Readable } from 'node:stream';
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { ListAuditEventsRequest } from '#proto/auth/v1/users.js';
import { leaving } from '../../../http/disconnect-signal.js';
import { csvLine } from '../../../pages/csv.js';
import { contextOf, stillActing, contextWithin } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { pageOf, queryText } from '../../paging.js';
import { renderAuditEntry } from '../../render/operator.js';
import { orNull } from '../../render/values.js';
import { instantOf } from '../../usage-filter.js';
import { operatorBodies } from './operator-bodies.js';

const exportPageSize = 1000;
const verifyTimeoutMs = 60_000;
/** Adds the routes below `base`, behind what lets in operators alone. */
export function auditRoutes(router: Router, base: string, deps: ConsoleDeps): void {
  router.get(`${base}/audit`, listAuditEvents(deps));
  router.get(`${base}/audit/export`, exportAudit(deps));
  router.post(`${base}/audit/verify`, verifyAuditLog(deps));
}

/** Reads ?actor=…&action=…&account=…&target=…&from=…&until=… Raises invalid_request that names the parameter. */
function filterOf(ctx: Context) {
  return {
    accountId: queryText(ctx, 'account'),
    actor: queryText(ctx, 'actor'),
    action: queryText(ctx, 'action'),
    targetId: queryText(ctx, 'target'),
    fromMs: instantOf(ctx, 'from'),
    untilMs: instantOf(ctx, 'until'),
  };
}

/** GET audit: newest first. */
function listAuditEvents(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { events: entries, nextPageToken } = await deps.peers.users.listAuditEvents(
      { ...filterOf(ctx), ...pageOf(ctx) },
      contextOf(deps),
    );
    ctx.body = { data: entries.map(renderAuditEntry), next: orNull(nextPageToken) };
  };
}

/** GET audit/export?format=csv or jsonl: exactly what the filter finds, streamed at the reader's pace. */
function exportAudit(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const format = queryText(ctx, 'format') || 'csv';
    if (format !== 'csv' && format !== 'jsonl')
      throw new AppError('invalid_request', 'format: must be csv or jsonl', { details: { field: 'format' } });
    const filter = ListAuditEventsRequest.fromPartial(filterOf(ctx));
    // The first page before the head is sent, so that a fault of the filter is an answer of its own.
    const first = await deps.peers.users.listAuditEvents({ ...filter, pageSize: exportPageSize }, contextOf(deps));
    ctx.type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
    ctx.attachment(`audit.${format}`);
    ctx.body = Readable.from(stillActing(exportLines(first, filter, format, leaving(ctx.res), deps)));
  };
}

const columns = [
  'at',
  'number',
  'actor',
  'actor_user_id',
  'address',
  'caller',
  'account_id',
  'action',
  'target_id',
  'detail',
  'id',
  'hash',
] as const;

async function* exportLines(
  first: Awaited<ReturnType<ConsoleDeps['peers']['users']['listAuditEvents']>>,
  filter: ListAuditEventsRequest,
  format: 'csv' | 'jsonl',
  left: AbortSignal,
  deps: ConsoleDeps,
): AsyncGenerator<string, void, void> {
  if (format === 'csv') yield csvLine(columns);
  for (let page = first; ;) {
    const entries = page.events.map(renderAuditEntry);
    const lines = entries.map((entry) =>
      format === 'csv'
        ? csvLine(columns.map((column) => (column === 'detail' ? JSON.stringify(entry.detail) : (entry[column] ?? ''))))
        : `${JSON.stringify(entry)}\n`,
    );
    yield lines.join('');
    if (page.nextPageToken === '' || left.aborted) return;
    page = await deps.peers.users.listAuditEvents({ ...filter, pageSize: exportPageSize, pageToken: page.nextPageToken }, contextOf(deps));
  }
}

/** POST audit/verify: computes the chain anew; with `number` and `hash`, also whether an entry that was seen is still there. */
function verifyAuditLog(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { number, hash } = await operatorBodies.verifyAuditLog(ctx);
    if ((number == null) !== (hash == null))
      throw new AppError('invalid_request', 'hash: number and hash go together', {
        details: { field: number == null ? 'number' : 'hash' },
      });
    const seen = { number: BigInt(number ?? 0), hash: Buffer.from(hash ?? '', 'hex') };
    const found = await deps.peers.users.verifyAuditLog(seen, contextWithin(verifyTimeoutMs));
    ctx.body = {
      ok: found.fault === '',
      fault: orNull(found.fault),
      entries_checked: Number(found.eventsChecked),
      last: found.lastNumber === 0n ? null : { number: Number(found.lastNumber), hash: Buffer.from(found.lastHash).toString('hex') },
    };
  };
}
