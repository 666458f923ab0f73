// Usage of an account: records, one record, sums, and records as a file.
import { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { formatUsd } from '#rules/money.js';
import { leaving } from '../../http/disconnect-signal.js';
import { renderAttempts } from '../../render/attempts.js';
import { renderUsageRecord } from '../../render/usage.js';
import { contextOf, stillActing } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { pageOf, queryText } from '../paging.js';
import { recordCsvHead, recordCsvLine } from '../record-csv.js';
import { type RecordSearch, recordSearchOf, searchRecords } from '../record-search.js';
import { renderRecordHold } from '../render/money.js';
import { orNull } from '../render/values.js';
import { accountOf, visitorOf } from '../session.js';
import { usageFilterOf, usageGroupingOf } from '../usage-filter.js';

/** GET usage/records: newest first, by keyset pages. */
export function listRecords(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { records, nextPageToken } = await searchRecords(recordSearchOf(ctx, accountId), pageOf(ctx), deps);
    ctx.body = { data: records.map(renderUsageRecord), next: orNull(nextPageToken) };
  };
}

/** GET usage/records/{id}: with the arithmetic of its charge and with its attempts; to operators also with the upstreams, which are theirs alone to know. */
export function getRecord(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { record } = await deps.peers.metering.getUsageRecord({ callId: String(ctx['params'].id), accountId }, contextOf(deps));
    const { upstreamId, upstreamModel } = record!.call!;
    const { isOperator } = visitorOf(ctx).user;
    ctx.body = {
      ...renderUsageRecord(record!),
      attempts: renderAttempts(record!, isOperator),
      ...(isOperator ? { upstream: { id: upstreamId, model: upstreamModel } } : {}),
    };
  };
}

/** GET usage/records/{id}/hold: what the ledger set aside for the call, and what became of it. */
export function getRecordHold(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { hold } = await deps.peers.ledger.getHold({ holdId: String(ctx['params'].id), accountId }, contextOf(deps));
    ctx.body = renderRecordHold(hold!);
  };
}

/** GET usage/totals: sums over the same filter, in groups and groups within those. */
export function getTotals(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    if (queryText(ctx, 'request_id') !== '')
      throw new AppError('invalid_request', 'request_id: names one call; sums are over all calls of a filter', {
        details: { field: 'request_id' },
      });
    const { groups } = await deps.peers.metering.getUsageTotals(
      { filter: usageFilterOf(ctx, accountId), ...usageGroupingOf(ctx) },
      contextOf(deps),
    );
    ctx.body = {
      data: groups.map((group) => ({
        name: orNull(group.name),
        then_name: orNull(group.thenName),
        calls: Number(group.calls),
        errors: Number(group.errors),
        quarantined: Number(group.quarantined),
        mean_duration_ms: mean(group.durationMs, group.calls),
        mean_first_output_ms: mean(group.firstOutputMs, group.firstOutputCalls),
        charge_usd: formatUsd(group.chargeNanoUsd),
        tokens: {
          input: Number(group.inputTokens),
          cache_read: Number(group.cacheReadTokens),
          cache_write: Number(group.cacheWriteTokens),
          output: Number(group.outputTokens),
          reasoning: Number(group.reasoningTokens),
        },
      })),
    };
  };
}

/** To the nearest millisecond; null where there is nothing to measure. */
function mean(sumMs: bigint, calls: bigint): number | null {
  return calls === 0n ? null : Number((sumMs + calls / 2n) / calls);
}

/** GET usage/export?format=csv or jsonl: exactly the filter's records, streamed page by page at the reader's pace. */
export function exportRecords(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const format = queryText(ctx, 'format') || 'csv';
    if (format !== 'csv' && format !== 'jsonl')
      throw new AppError('invalid_request', 'format: must be csv or jsonl', { details: { field: 'format' } });
    const search = recordSearchOf(ctx, accountId);
    ctx.type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
    ctx.attachment(`usage.${format}`);
    ctx.body = Readable.from(stillActing(exportLines(search, format, leaving(ctx.res), deps)));
  };
}

const exportPageSize = 1000;

async function* exportLines(
  search: RecordSearch,
  format: 'csv' | 'jsonl',
  left: AbortSignal,
  deps: ConsoleDeps,
): AsyncGenerator<string, void, void> {
  if (format === 'csv') yield recordCsvHead;
  let pageToken = '';
  do {
    const page = await searchRecords(search, { pageSize: exportPageSize, pageToken }, deps);
    const lines = page.records.map((record) =>
      format === 'csv' ? recordCsvLine(record) : `${JSON.stringify(renderUsageRecord(record))}\n`,
    );
    yield lines.join('');
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && !left.aborted);
}
