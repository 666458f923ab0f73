// Usage of an account: records of calls, failed calls, totals and exports.
import { fieldFault } from '#client/errors/fault.js';
import {
  type GetUsagePerformanceResponse_Group as PerformanceGroup,
  type GetUsagePerformanceResponse_Percentiles as Percentiles,
  type Outcome,
  PerformanceGroupBy,
  type UsageRecord,
} from '#proto/metering/v1/metering.js';
import { formatUsd } from '#rules/money/money.js';
import { errorOutcomes } from '#rules/money/outcomes.js';
import { disconnectSignal } from '../../http/disconnect-signal.js';
import { renderAttempts } from '../../render/attempts.js';
import { renderPromptLogState, renderUsageRecord } from '../../render/usage.js';
import { exportFile, exportPageSize } from '../exports/export-file.js';
import { recordCsvHead, recordCsvLine } from '../exports/record-csv.js';
import { recordNames } from '../exports/record-names.js';
import { recordSearchOf, searchRecords } from '../search/record-search.js';
import { renderRecordHold } from '../render/billing.js';
import { instant, orNull } from '../render/values.js';
import { words } from '../render/words.js';
import {
  ErrorList,
  ExportRecords,
  GetUsagePerformance,
  ListErrors,
  RecordHold,
  RecordList,
  ListRecords,
  PromptLog,
  TotalList,
  UsageRecordDetail,
  UsagePerformance,
  UsageTotals,
} from '../schemas/usage.js';
import { type Area, done, file, ok, operation } from '../table/operation.js';
import { byCreator, keyCreators, keysOfMember } from '../search/member-totals.js';
import { usageFilterOf, usageGroupingOf } from '../search/usage-filter.js';

export const usage: Area = {
  title: 'Usage',
  description: 'The records of calls, one for each call, and their totals.',
  operations: [
    operation('GET', '/accounts/{account}/usage/records', {
      summary: 'List the records of calls, newest first or in the order of `sort`.',
      who: 'see projects',
      scope: 'usage:read',
      query: ListRecords,
      paged: true,
      answers: [ok(RecordList)],
      handle: async (call, { peers }) => {
        const { sort } = call.query;
        const search = recordSearchOf(call.query, call, await keysOfMember(call, { peers }));
        const page = { ...call.page, ...(sort === undefined ? {} : { orderBy: words.recordOrder.value(sort) }) };
        const { records, nextPageToken, newestOnly } = await searchRecords(search, page, peers, call.context());
        return { data: records.map(renderUsageRecord), next: orNull(nextPageToken), newest_only: newestOnly };
      },
    }),
    operation('GET', '/accounts/{account}/usage/records/{id}', {
      summary: 'Show one record with its attempts and the calculation of its charge.',
      who: 'see projects',
      scope: 'usage:read',
      answers: [ok(UsageRecordDetail)],
      handle: async ({ accountId, params, visitor, context }, { peers }) => {
        const { record } = await peers.metering.getUsageRecord({ callId: params.id, accountId }, context());
        const { upstreamId, upstreamModel } = record!.call!;
        const { isOperator } = visitor.user;
        return {
          ...renderUsageRecord(record!),
          attempts: renderAttempts(record!, isOperator),
          prompt_log: renderPromptLogState(record!),
          ...(isOperator ? { upstream: { id: upstreamId, model: upstreamModel } } : {}),
        };
      },
    }),
    operation('GET', '/accounts/{account}/usage/records/{id}/hold', {
      summary: 'Show the hold for a call, and whether it was settled or released.',
      who: 'see projects',
      scope: 'usage:read',
      answers: [ok(RecordHold)],
      handle: async ({ accountId, projectIds, params, context }, { peers }) => {
        // Metering knows the project of the call, and the ledger does not.
        if (projectIds !== undefined) await peers.metering.getUsageRecord({ callId: params.id, accountId }, context());
        const { hold } = await peers.ledger.getHold({ holdId: params.id, accountId }, context());
        return renderRecordHold(hold!);
      },
    }),
    operation('GET', '/accounts/{account}/usage/records/{id}/prompt', {
      summary: 'Show the prompt and the answer of a call whose project logs them. Recorded in the audit log of the account.',
      who: 'change keys',
      answers: [ok(PromptLog)],
      errors: {
        not_found: 'Nothing is stored for the call.',
        role_not_permitted: 'Also for an operator who is not a developer, admin or owner of the account or the project.',
      },
      handle: async ({ accountId, params, context }, { peers }) => {
        const { log, expiresAtMs } = await peers.metering.readPromptLog({ callId: params.id, accountId }, context());
        return {
          request_body: log!.requestBody,
          answer_body: orNull(log!.answerBody),
          request_truncated: log!.requestTruncated,
          answer_truncated: log!.answerTruncated,
          answer_partial: log!.answerPartial,
          expires_at: instant(expiresAtMs),
        };
      },
    }),
    operation('DELETE', '/accounts/{account}/usage/records/{id}/prompt', {
      summary: 'Delete the prompt and the answer of a call. Its record is unchanged.',
      who: 'change keys',
      answers: [done()],
      errors: { role_not_permitted: 'Also for an operator who is not a developer, admin or owner of the account or the project.' },
      handle: async ({ accountId, params, context }, { peers }) => {
        await peers.metering.deletePromptLog({ callId: params.id, accountId }, context());
      },
    }),
    operation('GET', '/accounts/{account}/usage/errors', {
      summary: 'List the newest calls that failed.',
      who: 'see projects',
      scope: 'usage:read',
      query: ListErrors,
      answers: [ok(ErrorList)],
      handle: async (call, { peers }) => {
        const { pageSize } = call.page;
        // Reading one index range per kind of failure is fast even when no call has failed.
        const newest = (outcome: Outcome) =>
          peers.metering.listUsageRecords({ filter: { ...usageFilterOf({}, call), outcome }, pageSize, pageToken: '' }, call.context());
        const found = (await Promise.all(errorOutcomes.map(newest))).flatMap(({ records }) => records);
        return { data: found.toSorted(newestFirst).slice(0, pageSize).map(renderUsageRecord) };
      },
    }),
    operation('GET', '/accounts/{account}/usage/totals', {
      summary: 'Sum calls, grouped by one field or by two.',
      who: 'see projects',
      scope: 'usage:read',
      query: UsageTotals,
      answers: [ok(TotalList)],
      handle: async (call, { peers }) => {
        const { query } = call;
        if (query.request_id !== undefined) throw fieldFault('request_id', 'not_with_sums');
        const grouping = usageGroupingOf(query);
        const isByMember = query.group_by === 'member' || query.then_by === 'member';
        const filter = usageFilterOf(query, call, await keysOfMember(call, { peers }));
        const [{ groups }, creators] = await Promise.all([
          peers.metering.getUsageTotals({ filter, ...grouping }, call.context()),
          isByMember ? keyCreators(call, query.group_by === 'member' ? 'group_by' : 'then_by', { peers }) : undefined,
        ]);
        const shown =
          creators === undefined ? groups : byCreator(groups, query.group_by === 'member' ? 'name' : 'thenName', creators, grouping.thenBy);
        return {
          data: shown.map((group) => ({
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
            units: group.units.map(({ unit, quantity, chargeNanoUsd }) => ({
              unit,
              quantity: Number(quantity),
              charge_usd: formatUsd(chargeNanoUsd),
            })),
          })),
        };
      },
    }),
    operation('GET', '/accounts/{account}/usage/performance', {
      summary: 'Show how fast and how reliable calls were, by model or upstream.',
      who: 'see projects',
      scope: 'usage:read',
      query: GetUsagePerformance,
      answers: [ok(UsagePerformance)],
      handle: async (call, { peers }) => {
        const { group_by: groupBy = 'model' } = call.query;
        if (groupBy === 'upstream' && !call.visitor.user.isOperator) throw fieldFault('group_by', 'one_of', { values: 'model' });
        const { groups, newestOnly } = await peers.metering.getUsagePerformance(
          {
            filter: usageFilterOf(call.query, call, await keysOfMember(call, { peers })),
            groupBy: groupBy === 'model' ? PerformanceGroupBy.PERFORMANCE_GROUP_BY_MODEL : PerformanceGroupBy.PERFORMANCE_GROUP_BY_UPSTREAM,
          },
          call.context(),
        );
        return { data: groups.map(renderPerformance), newest_only: newestOnly };
      },
    }),
    operation('GET', '/accounts/{account}/usage/export', {
      summary: 'Download the records that match the filters as a file.',
      who: 'see projects',
      scope: 'usage:read',
      query: ExportRecords,
      answers: [file('The file, streamed; each line of jsonl is a usage record.', 'text/csv', 'application/x-ndjson')],
      handle: async (call, { peers }) => {
        const { ctx, query, context } = call;
        const { format = 'csv' } = query;
        const search = recordSearchOf(query, call, await keysOfMember(call, { peers }));
        // Before the answer begins, so that a search that is refused is answered with its error.
        let page = await searchRecords(search, { pageSize: exportPageSize, pageToken: '' }, peers, context());
        const disconnected = disconnectSignal(ctx.res);
        const namesOf = recordNames(peers, call.accountId, context);
        ctx.type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
        ctx.attachment(`usage.${format}`);
        return exportFile(lines());

        async function* lines(): AsyncGenerator<string, void, void> {
          if (format === 'csv') yield recordCsvHead;
          for (;;) {
            if (format === 'csv') {
              const names = await namesOf(page.records);
              yield page.records.map((record) => recordCsvLine(record, names)).join('');
            } else yield page.records.map((record) => `${JSON.stringify(renderUsageRecord(record))}\n`).join('');
            if (page.nextPageToken === '' || disconnected.aborted) return;
            page = await searchRecords(search, { pageSize: exportPageSize, pageToken: page.nextPageToken }, peers, context());
          }
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

function renderPerformance(group: PerformanceGroup): UsagePerformance['data'][number] {
  const percentiles = (of: Percentiles | undefined) => (of === undefined ? null : { p50_ms: of.p50Ms, p95_ms: of.p95Ms });
  return {
    name: group.name,
    calls: Number(group.calls),
    errors: Number(group.errors),
    duration: percentiles(group.duration),
    first_output: percentiles(group.firstOutput),
    input_tokens: Number(group.inputTokens),
    cache_read_tokens: Number(group.cacheReadTokens),
  };
}
