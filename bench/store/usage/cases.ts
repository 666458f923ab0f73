// The benchmark's queries to metering: those of the console's pages, exports and charts.
import type { Database } from '#kit/db/open.js';
import { callContext } from '#client/call-context.js';
import { Outcome, GroupBy, RecordOrder, UsageFilter } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '#services/metering/deps.js';
import { encodePageToken } from '#services/metering/requests/page-token.js';
import { getUsageTotals } from '#services/metering/rpcs/get-usage-totals.js';
import { listUsageRecords } from '#services/metering/rpcs/list-usage-records.js';
import { errorOutcomes } from '#rules/money/outcomes.js';
import type { History } from './generate.ts';

/** One query. */
export interface Case {
  readonly name: string;
  readonly ask: () => Promise<unknown>;
}

const dayMs = 86_400_000;
/** Half of the charts are requested in a zone that splits hours, which is the most expensive case, half in one with whole hours. */
const zones = [
  ['+05:45', 345],
  ['−07:00', -420],
] as const;

/** Returns queries of record pages with each filter, new and old ones. */
export function pageCases(db: Database, { accounts, models, fromMs, untilMs }: History): Case[] {
  const context = callContext({ caller: 'bench' });
  const { id: accountId, keys } = accounts[0]!;
  const page =
    (filter: Partial<UsageFilter>, pageToken = '', pageSize = 50) =>
    () =>
      listUsageRecords({ filter: UsageFilter.fromPartial({ accountId, ...filter }), pageSize, pageToken }, context, { db } as RpcDeps);
  const after = (startedAtMs: number): string =>
    encodePageToken(RecordOrder.RECORD_ORDER_UNSPECIFIED, { startedAtMs: BigInt(startedAtMs), callId: `req_${'0'.repeat(32)}` });
  const [middle, old] = [after(Math.floor((fromMs + untilMs) / 2)), after(fromMs + dayMs)];
  const month = { fromMs: BigInt(untilMs - 60 * dayMs), untilMs: BigInt(untilMs - 30 * dayMs) };
  const filters: [string, Partial<UsageFilter>][] = [
    ['', {}],
    [' of a month', month],
    [' of a key', { keyId: keys[3]! }],
    [' of a model', { modelId: models[14]! }],
    [' of an outcome', { outcome: Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT }],
    [' of a key and a model', { keyId: keys[9]!, modelId: models[14]! }],
    [' of a key and an outcome', { keyId: keys[9]!, outcome: Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT }],
    [' of a key, a model and an outcome', { keyId: keys[9]!, modelId: models[14]!, outcome: Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT }],
  ];
  return [
    { name: 'records: page in the middle', ask: page({}, middle) },
    { name: 'records of a key: page in the middle', ask: page({ keyId: keys[0]! }, middle) },
    ...filters.flatMap(([name, filter]) => [
      { name: `records${name}: first page`, ask: page(filter) },
      // A page token would be outside of the month; its last day is equally deep.
      {
        name: `records${name}: page near the end`,
        ask: filter === month ? page({ ...month, untilMs: month.fromMs + BigInt(dayMs) }) : page(filter, old),
      },
    ]),
    // As the console requests them: one page for each failure outcome.
    { name: 'failed calls', ask: () => Promise.all(errorOutcomes.map((outcome) => page({ outcome })())) },
    { name: 'export: first 1000 records', ask: page({}, '', 1000) },
    { name: 'export of a key and a model: first 1000 records', ask: page({ keyId: keys[9]!, modelId: models[14]! }, '', 1000) },
  ];
}

/** Returns queries of sums over days, a month and a quarter of a year. */
export function sumCases(db: Database, { accounts, models, untilMs }: History): Case[] {
  const context = callContext({ caller: 'bench' });
  const { id: accountId, keys } = accounts[0]!;
  const {
    GROUP_BY_DAY: day,
    GROUP_BY_HOUR: hour,
    GROUP_BY_KEY: key,
    GROUP_BY_MODEL: model,
    GROUP_BY_OUTCOME: outcome,
    GROUP_BY_UNSPECIFIED: none,
  } = GroupBy;
  const sums = (offsetMinutes: number, lengthMs: number, groupBy: GroupBy, thenBy: GroupBy, filter: Partial<UsageFilter>) => () =>
    getUsageTotals(
      { filter: UsageFilter.fromPartial({ accountId, fromMs: BigInt(untilMs - lengthMs), ...filter }), groupBy, thenBy, offsetMinutes },
      context,
      { db } as RpcDeps,
    );
  const ofKey = { keyId: keys[0]! };
  const ofModel = { modelId: models[0]! };
  const completed = { outcome: Outcome.OUTCOME_COMPLETED };
  const timeless: [string, GroupBy, GroupBy, Partial<UsageFilter>][] = [
    ['', none, none, {}],
    [' by model', model, none, {}],
    [' by key', key, none, {}],
    [' by key and model', key, model, {}],
    [' by key and model of completed calls', key, model, completed],
  ];
  const timed: [string, GroupBy, GroupBy, Partial<UsageFilter>][] = [
    [' by day', day, none, {}],
    [' by hour', hour, none, {}],
    [' by day and model', day, model, {}],
    [' by day and outcome', day, outcome, {}],
    [' by day of the busiest key and model', day, none, { ...ofKey, ...ofModel }],
    [' by day and model of the busiest key', day, model, ofKey],
    [' by day and key of the busiest model', day, key, ofModel],
    [' by day and key of completed calls', day, key, completed],
    [' by day and model of completed calls', day, model, completed],
    [' by day and model of completed calls of the busiest key', day, model, { ...ofKey, ...completed }],
  ];
  const cases: Case[] = [];
  for (const [length, lengthMs] of [
    ['24 h', dayMs],
    ['30 d', 30 * dayMs],
    ['90 d', 90 * dayMs],
  ] as const) {
    for (const [name, groupBy, thenBy, filter] of timeless)
      cases.push({ name: `sums${name}, ${length}`, ask: sums(0, lengthMs, groupBy, thenBy, filter) });
    for (const [name, groupBy, thenBy, filter] of timed) {
      for (const [zone, offset] of zones)
        cases.push({ name: `sums${name}, ${length}, ${zone}`, ask: sums(offset, lengthMs, groupBy, thenBy, filter) });
    }
  }
  // A response can have at most 10,000 groups.
  for (const [length, days] of [
    ['24 h', 1],
    ['7 d', 7],
    ['27 d', 27],
  ] as const) {
    for (const [zone, offset] of zones)
      cases.push({ name: `sums by hour and model, ${length}, ${zone}`, ask: sums(offset, days * dayMs, hour, model, {}) });
  }
  return cases;
}
