import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import {
  Outcome,
  GroupBy,
  type MeteringService,
  PerformanceGroupBy,
  RecordOrder,
  UsageFilter,
  type UsageRecord,
} from '#proto/metering/v1/metering.js';
import { errorOutcomes } from '#rules/money/outcomes.js';
import { call, price, report, startedAtMs, tokens } from '../../testing/calls.js';
import { Harness, record } from '../../testing/harness.js';
import { percentilesOf } from '../totals/performance.js';

const hourMs = 3_600_000n;
const ungrouped = { thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 };

describe.each(testEngines)('usage records on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  const accountId = newId('acct');
  const keys = [newId('key'), newId('key')];
  const projects = [newId('proj'), newId('proj')];
  const models = ['sandbox/echo', 'sandbox/long', 'vendor/größer'];
  const outcomes = [Outcome.OUTCOME_COMPLETED, Outcome.OUTCOME_MAX_TOKENS, Outcome.OUTCOME_CLIENT_DISCONNECTED, Outcome.OUTCOME_COMPLETED];
  // Newest first, as they are to be listed.
  const all: UsageRecord[] = [];

  beforeAll(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica());
    for (let index = 0; index < 30; index += 1) {
      all.push(
        await record(
          service,
          report({
            // Every third starts at the same time as the previous one, so that the id must decide.
            call: call({
              accountId,
              projectId: projects[Math.floor(index / 5) % 2]!,
              keyId: keys[index % 2]!,
              modelId: models[index % 3]!,
              startedAtMs: startedAtMs + BigInt(index - (index % 3 === 2 ? 1 : 0)) * hourMs,
            }),
            tokens: tokens({
              inputTokens: index,
              cacheReadTokens: 2,
              cacheWrite5mTokens: 3,
              cacheWrite1hTokens: 4,
              outputTokens: 10,
              reasoningTokens: 5,
            }),
            outcome: outcomes[index % 4]!,
          }),
        ),
      );
      await record(service, report());
    }
    all.sort((a, b) => (keyOf(a) < keyOf(b) ? 1 : -1));
  });

  afterAll(() => harness.close());

  const keyOf = (stored: UsageRecord) => `${stored.call!.startedAtMs}/${stored.call!.id}`;
  const idsOf = (records: readonly UsageRecord[]) => records.map((stored) => stored.call!.id);

  it('are measured by model and upstream: percentiles, errors and what came from a cache', async () => {
    const filter = UsageFilter.fromPartial({ accountId });
    const byModel = await service.getUsagePerformance({ filter, groupBy: PerformanceGroupBy.PERFORMANCE_GROUP_BY_MODEL });
    expect(byModel.newestOnly).toBe(false);
    expect(byModel.groups.map(({ name, calls }) => [name, calls])).toEqual(models.map((model) => [model, 10n]));
    const [first] = byModel.groups;
    const ofFirst = all.filter(({ call: of }) => of!.modelId === first!.name);
    const read = ofFirst.reduce((sum, { tokens: counts }) => sum + counts!.inputTokens + 9, 0);
    expect(first).toMatchObject({
      errors: 0n,
      duration: { p50Ms: 900, p95Ms: 900 },
      firstOutput: { p50Ms: 120, p95Ms: 120 },
      inputTokens: BigInt(read),
      cacheReadTokens: 20n,
    });
    const { groups } = await service.getUsagePerformance({ filter, groupBy: PerformanceGroupBy.PERFORMANCE_GROUP_BY_UPSTREAM });
    expect(groups.map(({ name, calls }) => [name, calls])).toEqual([['sandbox', 30n]]);
    expect(percentilesOf(Array.from({ length: 100 }, (_, index) => 100 - index))).toEqual({ p50Ms: 50, p95Ms: 95 });
  });

  it('can be listed in the order of a figure, page by page', async () => {
    const filter = UsageFilter.fromPartial({ accountId, keyId: keys[1]! });
    for (const [orderBy, figure] of [
      [RecordOrder.RECORD_ORDER_INPUT, ({ tokens: counts }: UsageRecord) => counts!.inputTokens],
      [RecordOrder.RECORD_ORDER_CHARGE, ({ chargeNanoUsd }: UsageRecord) => Number(chargeNanoUsd)],
      [RecordOrder.RECORD_ORDER_FIRST_OUTPUT, ({ firstOutputMs }: UsageRecord) => firstOutputMs!],
    ] as const) {
      const expected = all
        .filter(({ call: of }) => of!.keyId === keys[1])
        .toSorted((a, b) => figure(b) - figure(a) || (a.call!.id < b.call!.id ? 1 : -1));
      const found: UsageRecord[] = [];
      let pageToken = '';
      do {
        const page = await service.listUsageRecords({ filter, pageSize: 4, pageToken, orderBy });
        expect(page.newestOnly).toBe(false);
        found.push(...page.records);
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(idsOf(found)).toEqual(idsOf(expected));
    }
  });

  it('can be listed in the order of charges that a float cannot hold', async () => {
    const mine = newId('acct');
    const expected: bigint[] = [9_007_199_254_740_995n, 9_007_199_254_740_993n, 9_007_199_254_740_993n, 9_007_199_254_740_991n];
    for (const nanoUsd of expected) {
      const units = [{ unit: 'request', nanoUsd, maxPerCall: 1 }];
      await record(service, report({ call: call({ accountId: mine, price: price({ units }) }), tokens: tokens() }));
    }
    const filter = UsageFilter.fromPartial({ accountId: mine });
    const found: bigint[] = [];
    let pageToken = '';
    do {
      const page = await service.listUsageRecords({ filter, pageSize: 1, pageToken, orderBy: RecordOrder.RECORD_ORDER_CHARGE });
      found.push(...page.records.map(({ chargeNanoUsd }) => chargeNanoUsd));
      pageToken = page.nextPageToken;
    } while (pageToken !== '' && found.length < 10);
    expect(found).toEqual(expected);
  });

  async function pages(filter: Partial<UsageFilter>, pageSize: number): Promise<UsageRecord[][]> {
    const found: UsageRecord[][] = [];
    let pageToken = '';
    do {
      const page = await service.listUsageRecords({ filter: UsageFilter.fromPartial(filter), pageSize, pageToken });
      found.push(page.records);
      pageToken = page.nextPageToken;
      // A position that does not advance must fail the test, not hang it.
    } while (pageToken !== '' && found.length < 100);
    return found;
  }

  it.each([1, 7, 10, 30, 1000])('come newest first in pages of %i, each once', async (pageSize) => {
    const found = await pages({ accountId }, pageSize);
    expect(idsOf(found.flat())).toEqual(idsOf(all));
    expect(found.every((page) => page.length > 0 && page.length <= pageSize)).toBe(true);
  });

  const filters: [string, Partial<UsageFilter>, (stored: UsageRecord) => boolean][] = [
    ['project', { projectIds: [projects[0]!] }, (stored) => stored.call!.projectId === projects[0]],
    ['key', { keyId: keys[0]! }, (stored) => stored.call!.keyId === keys[0]],
    ['model', { modelId: models[2]! }, (stored) => stored.call!.modelId === models[2]],
    ['outcome', { outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED }, (stored) => stored.outcome === Outcome.OUTCOME_CLIENT_DISCONNECTED],
    [
      'start',
      { fromMs: startedAtMs + 5n * hourMs, untilMs: startedAtMs + 9n * hourMs },
      (stored) => stored.call!.startedAtMs >= startedAtMs + 5n * hourMs && stored.call!.startedAtMs < startedAtMs + 9n * hourMs,
    ],
    [
      'key, model and outcome',
      { keyId: keys[1]!, modelId: models[1]!, outcome: Outcome.OUTCOME_COMPLETED },
      (stored) => stored.call!.keyId === keys[1] && stored.call!.modelId === models[1] && stored.outcome === Outcome.OUTCOME_COMPLETED,
    ],
  ];
  it.each(filters)('are found by %s', async (_, filter, matches) => {
    const expected = all.filter(matches);
    expect(expected.length).toBeGreaterThan(0);
    expect(idsOf((await pages({ accountId, ...filter }, 4)).flat())).toEqual(idsOf(expected));
  });

  it('of all accounts are listed when none is named', async () => {
    expect((await pages({}, 1000)).flat().length).toBeGreaterThanOrEqual(60);
  });

  it('neither repeat nor hide when others arrive between two pages', async () => {
    const mine = newId('acct');
    const at = (hours: bigint) => record(service, report({ call: call({ accountId: mine, startedAtMs: startedAtMs + hours * hourMs }) }));
    const [oldest, middle, newest] = [await at(1n), await at(2n), await at(3n)];
    const filter = UsageFilter.fromPartial({ accountId: mine });
    const first = await service.listUsageRecords({ filter, pageSize: 2, pageToken: '' });
    await at(4n);
    const second = await service.listUsageRecords({ filter, pageSize: 2, pageToken: first.nextPageToken });
    expect(idsOf([...first.records, ...second.records])).toEqual(idsOf([newest, middle, oldest]));
    expect(second.nextPageToken).toBe('');
  });

  it.each([
    ['page_token', { pageToken: 'nonsense' }],
    ['page_size', { pageSize: 1001 }],
    ['filter.account_id', { filter: UsageFilter.fromPartial({ accountId: 'me' }) }],
    ['filter.outcome', { filter: UsageFilter.fromPartial({ outcome: 99 as Outcome }) }],
  ])('are rejected for a malformed %s', async (field, changes) => {
    const request = { filter: undefined, pageSize: 0, pageToken: '', ...changes };
    await expect(service.listUsageRecords(request)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });

  it('are not continued by the page token of another order or list', async () => {
    const { nextPageToken: pageToken } = await service.listUsageRecords({ filter: undefined, pageSize: 1, pageToken: '' });
    const refused = { reason: 'invalid_request', details: { field: 'page_token' } };
    await expect(
      service.listUsageRecords({ filter: undefined, pageSize: 1, pageToken, orderBy: RecordOrder.RECORD_ORDER_CHARGE }),
    ).rejects.toMatchObject(refused);
    await expect(service.listRefusals({ filter: undefined, pageSize: 1, pageToken })).rejects.toMatchObject(refused);
  });

  const sumOf = (records: readonly UsageRecord[], name: string) => {
    const sum = (read: (stored: UsageRecord) => number) => BigInt(records.reduce((total, stored) => total + read(stored), 0));
    return {
      name,
      thenName: '',
      calls: BigInt(records.length),
      chargeNanoUsd: records.reduce(
        (total, stored) => total + stored.lineItems.reduce((lines, item) => lines + item.amountNanoUsd, 0n),
        0n,
      ),
      errors: sum((stored) => Number(errorOutcomes.includes(stored.outcome as never))),
      quarantined: sum((stored) => Number(stored.quarantined)),
      durationMs: sum((stored) => stored.durationMs),
      firstOutputCalls: sum((stored) => Number(stored.firstOutputMs !== undefined)),
      firstOutputMs: sum((stored) => stored.firstOutputMs ?? 0),
      units: [],
      inputTokens: sum((stored) => stored.tokens!.inputTokens),
      cacheReadTokens: sum((stored) => stored.tokens!.cacheReadTokens),
      cacheWriteTokens: sum((stored) => stored.tokens!.cacheWrite5mTokens + stored.tokens!.cacheWrite1hTokens),
      outputTokens: sum((stored) => stored.tokens!.outputTokens),
      reasoningTokens: sum((stored) => stored.tokens!.reasoningTokens),
    };
  };

  const groupings: [string, GroupBy, (stored: UsageRecord) => string][] = [
    ['in one', GroupBy.GROUP_BY_UNSPECIFIED, () => ''],
    ['by key', GroupBy.GROUP_BY_KEY, (stored) => stored.call!.keyId],
    ['by project', GroupBy.GROUP_BY_PROJECT, (stored) => stored.call!.projectId],
    ['by model', GroupBy.GROUP_BY_MODEL, (stored) => stored.call!.modelId],
    ['by day', GroupBy.GROUP_BY_DAY, (stored) => new Date(Number(stored.call!.startedAtMs)).toISOString().slice(0, 10)],
    ['by hour', GroupBy.GROUP_BY_HOUR, (stored) => `${new Date(Number(stored.call!.startedAtMs)).toISOString().slice(0, 14)}00Z`],
    ['by outcome', GroupBy.GROUP_BY_OUTCOME, (stored) => Outcome[stored.outcome]!.slice('OUTCOME_'.length).toLowerCase()],
  ];
  it.each(groupings)('are summed %s, to the nano-dollar', async (_, groupBy, nameOf) => {
    const { groups } = await service.getUsageTotals({ filter: UsageFilter.fromPartial({ accountId }), groupBy, ...ungrouped });
    const names = [...new Set(all.map(nameOf))];
    const expected = names.map((name) =>
      sumOf(
        all.filter((stored) => nameOf(stored) === name),
        name,
      ),
    );
    expect(expected.length).toBeGreaterThanOrEqual(groupBy === GroupBy.GROUP_BY_UNSPECIFIED ? 1 : 2);
    expect(groups.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(expected.toSorted((a, b) => (a.name < b.name ? -1 : 1)));
  });

  it('return days in order and other groups by descending charge', async () => {
    const filter = UsageFilter.fromPartial({ accountId });
    const days = (await service.getUsageTotals({ filter, groupBy: GroupBy.GROUP_BY_DAY, ...ungrouped })).groups.map((group) => group.name);
    expect(days).toEqual(days.toSorted());
    const charges = (await service.getUsageTotals({ filter, groupBy: GroupBy.GROUP_BY_MODEL, ...ungrouped })).groups.map(
      (group) => group.chargeNanoUsd,
    );
    expect(charges).toEqual(charges.toSorted((a, b) => (a < b ? 1 : -1)));
  });

  it('sum to zero when there are none', async () => {
    const { groups } = await service.getUsageTotals({
      filter: UsageFilter.fromPartial({ accountId: newId('acct') }),
      groupBy: GroupBy.GROUP_BY_UNSPECIFIED,
      ...ungrouped,
    });
    expect(groups).toEqual([sumOf([], '')]);
  });

  if (engine === 'sqlite')
    it('are read through an index, whatever the filter', async () => {
      const by = async (where: string, columns = '*') => {
        const text = `EXPLAIN QUERY PLAN SELECT ${columns} FROM usage_record WHERE ${where} ORDER BY started_at_ms DESC, id DESC LIMIT 50`;
        const plan: { detail: string }[] = await harness.db.knex.raw(text);
        return plan.map((step) => step.detail).join('; ');
      };
      expect(await by("account_id = x'00'")).toMatch(/^SEARCH usage_record USING INDEX usage_record_by_account \(account_id=\?\)$/);
      expect(await by("account_id = x'00' AND key_id = x'00'")).toMatch(/^SEARCH .* usage_record_by_key \(account_id=\? AND key_id=\?\)$/);
      // Ids of a page of one model or outcome are found without reading rows.
      expect(await by("account_id = x'00' AND model_id = 'm' AND outcome = 3", 'id')).toMatch(
        /^SEARCH usage_record USING COVERING INDEX usage_record_by_account \(account_id=\?\)$/,
      );
      expect(await by("account_id = x'00' AND started_at_ms <= 5 AND (started_at_ms < 5 OR id < x'00')")).toMatch(
        /^SEARCH .* \(account_id=\? AND started_at_ms<\?\)$/,
      );
      expect(await by('1 = 1')).toMatch(/^SCAN usage_record USING INDEX usage_record_by_start$/);
    });
});
