// Usage of an account: records of calls, failed calls, totals and exports.
import { Readable } from 'node:stream';
import { fieldFault } from '#client/errors/fault.js';
import { type Outcome, UsageFilter as Filter, type UsageRecord } from '#proto/metering/v1/metering.js';
import { formatUsd } from '#rules/money.js';
import { errorOutcomes } from '#rules/outcomes.js';
import { disconnectSignal } from '../../http/disconnect-signal.js';
import { renderAttempts } from '../../render/attempts.js';
import { renderUsageRecord } from '../../render/usage.js';
import { stillActing } from '../session/call-contexts.js';
import { recordCsvHead, recordCsvLine } from '../exports/record-csv.js';
import { recordSearchOf, searchRecords } from '../search/record-search.js';
import { renderRecordHold } from '../render/billing.js';
import { orNull } from '../render/values.js';
import {
  ErrorList,
  ExportRecords,
  ListErrors,
  RecordHold,
  RecordList,
  RecordSearch,
  TotalList,
  UsageRecordDetail,
  UsageTotals,
} from '../schemas/usage.js';
import { type Area, file, ok, operation } from '../table/operation.js';
import { usageFilterOf, usageGroupingOf } from '../search/usage-filter.js';

const exportPageSize = 1000;

export const usage: Area = {
  title: 'Usage',
  description: 'Records of calls, one for each, and sums over them.',
  operations: [
    operation({
      method: 'GET',
      path: '/accounts/{account}/usage/records',
      summary: 'List the records of calls, newest first.',
      who: 'look',
      query: RecordSearch,
      paged: true,
      answers: [ok(RecordList)],
      handle: async ({ accountId, query, page, context }, { peers }) => {
        const { records, nextPageToken } = await searchRecords(recordSearchOf(query, accountId), page, peers, context());
        return { data: records.map(renderUsageRecord), next: orNull(nextPageToken) };
      },
    }),
    operation({
      method: 'GET',
      path: '/accounts/{account}/usage/records/{id}',
      summary: 'Show one record, with its attempts and the arithmetic of its charge.',
      who: 'look',
      answers: [ok(UsageRecordDetail)],
      handle: async ({ accountId, params, visitor, context }, { peers }) => {
        const { record } = await peers.metering.getUsageRecord({ callId: params.id, accountId }, context());
        const { upstreamId, upstreamModel } = record!.call!;
        const { isOperator } = visitor.user;
        return {
          ...renderUsageRecord(record!),
          attempts: renderAttempts(record!, isOperator),
          ...(isOperator ? { upstream: { id: upstreamId, model: upstreamModel } } : {}),
        };
      },
    }),
    operation({
      method: 'GET',
      path: '/accounts/{account}/usage/records/{id}/hold',
      summary: 'Show what was held for a call, and what became of it.',
      who: 'look',
      answers: [ok(RecordHold)],
      handle: async ({ accountId, params, context }, { peers }) => {
        const { hold } = await peers.ledger.getHold({ holdId: params.id, accountId }, context());
        return renderRecordHold(hold!);
      },
    }),
    operation({
      method: 'GET',
      path: '/accounts/{account}/usage/errors',
      summary: 'List the newest calls that failed.',
      who: 'look',
      query: ListErrors,
      answers: [ok(ErrorList)],
      handle: async ({ accountId, page: { pageSize }, context }, { peers }) => {
        // Reading one index range per kind of failure is fast even when no call has failed.
        const newest = (outcome: Outcome) =>
          peers.metering.listUsageRecords({ filter: Filter.fromPartial({ accountId, outcome }), pageSize, pageToken: '' }, context());
        const found = (await Promise.all(errorOutcomes.map(newest))).flatMap(({ records }) => records);
        return { data: found.toSorted(newestFirst).slice(0, pageSize).map(renderUsageRecord) };
      },
    }),
    operation({
      method: 'GET',
      path: '/accounts/{account}/usage/totals',
      summary: 'Sum calls, in groups and groups within those.',
      who: 'look',
      query: UsageTotals,
      answers: [ok(TotalList)],
      handle: async ({ accountId, query, context }, { peers }) => {
        if (query.request_id !== undefined) throw fieldFault('request_id', 'not_with_sums');
        const { groups } = await peers.metering.getUsageTotals(
          { filter: usageFilterOf(query, accountId), ...usageGroupingOf(query) },
          context(),
        );
        return {
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
      },
    }),
    operation({
      method: 'GET',
      path: '/accounts/{account}/usage/export',
      summary: 'Download exactly the records of the filter as a file.',
      who: 'look',
      query: ExportRecords,
      answers: [file('The file, streamed; each line of jsonl is a usage record.', 'text/csv', 'application/x-ndjson')],
      handle: ({ ctx, accountId, query, context }, { peers }) => {
        const { format = 'csv' } = query;
        const search = recordSearchOf(query, accountId);
        const disconnected = disconnectSignal(ctx.res);
        ctx.type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
        ctx.attachment(`usage.${format}`);
        return Readable.from(stillActing(lines()));

        async function* lines(): AsyncGenerator<string, void, void> {
          if (format === 'csv') yield recordCsvHead;
          let pageToken = '';
          do {
            const page = await searchRecords(search, { pageSize: exportPageSize, pageToken }, peers, context());
            yield page.records
              .map((record) => (format === 'csv' ? recordCsvLine(record) : `${JSON.stringify(renderUsageRecord(record))}\n`))
              .join('');
            pageToken = page.nextPageToken;
          } while (pageToken !== '' && !disconnected.aborted);
        }
      },
    }),
  ],
};

function newestFirst(a: UsageRecord, b: UsageRecord): number {
  const [one, other] = [a.call!, b.call!];
  if (one.startedAtMs !== other.startedAtMs) return one.startedAtMs < other.startedAtMs ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}

/** Rounds to the nearest millisecond; null when there is nothing to measure. */
function mean(sumMs: bigint, calls: bigint): number | null {
  return calls === 0n ? null : Number((sumMs + calls / 2n) / calls);
}
