import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { notingTexts } from '#kit/testing/statements.js';
import { Outcome, GetUsageTotalsRequest, GroupBy, type MeteringService, UsageFilter } from '#proto/metering/v1/metering.js';
import { call, price, report, startedAtMs, tokens } from '../../testing/calls.js';
import { Harness, record, until } from '../../testing/harness.js';
import { byName, groupings, scan, zones } from '../../testing/scan.js';
import { blocksOf, Shape } from '../../rollups/shapes.js';
import { bytesOf } from '../records/record-rows.js';
import { readRollupState } from '../sums/rollup-steps.js';
import { sumIn, sumRecords } from './totals.js';

const keys = [newId('key'), newId('key'), newId('key')];
const models = ['sandbox/echo', 'vendor/größer', 'vendor/Größer'];
const outcomes = [Outcome.OUTCOME_COMPLETED, Outcome.OUTCOME_CLIENT_DISCONNECTED, Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT];

/** Returns a price for searches and requests, and the cap of a call; nothing for a price of tokens alone. */
const searching = (searches: number) => {
  if (searches < 0) return {};
  const unit = (name: string, nanoUsd: bigint) => ({ unit: name, nanoUsd, maxPerCall: name === 'request' ? 1 : 9 });
  return {
    price: price({ units: [unit('request', BigInt(searches)), unit('web_search', 10n)] }),
    unitCaps: { counts: [{ unit: 'web_search', count: 9 }] },
  };
};

const totals = (service: MeteringService, request: Parameters<typeof GetUsageTotalsRequest.fromPartial>[0]) =>
  service.getUsageTotals(GetUsageTotalsRequest.fromPartial(request)).then(({ groups }) => groups);

describe.each(testEngines)('sums of usage on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;

  beforeAll(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica());
  });

  afterAll(() => harness.close());

  it('equal those of a plain scan, for any grouping, time zone and period', async () => {
    // Near one of the calls, on either side of it.
    const bound = fc.option(fc.record({ index: fc.nat(24), ms: fc.constantFrom(-450_000n, -1n, 0n, 1n, 450_000n) }), {
      nil: undefined,
      freq: 2,
    });
    const someCalls = fc.record({
      // Quarter hours, the milliseconds around them and their middle, over three days.
      atMs: fc
        .tuple(fc.integer({ min: 0, max: 288 }), fc.constantFrom(-1, 0, 1, 450_000))
        .map(([quarters, ms]) => startedAtMs + BigInt(quarters * 900_000 + ms)),
      key: fc.constantFrom(...keys),
      model: fc.constantFrom(...models),
      outcome: fc.constantFrom(...outcomes),
      counts: fc.record({
        inputTokens: fc.nat(1_000_000),
        cacheReadTokens: fc.nat(1000),
        cacheWrite5mTokens: fc.nat(1000),
        cacheWrite1hTokens: fc.nat(1000),
        outputTokens: fc.nat(1000),
      }),
      // Without a price for searches, with one, and with searches.
      searches: fc.integer({ min: -1, max: 3 }),
    });
    const history = fc.array(someCalls, { minLength: 1, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(history, fc.constantFrom(...zones), fc.boolean(), bound, bound, async (made, zone, isRolledUp, from, end) => {
        const [offsetMinutes, offset] = zone;
        const [fromMs, untilMs] = [from, end].map((near) => (near === undefined ? 0n : made[near.index % made.length]!.atMs + near.ms)) as [
          bigint,
          bigint,
        ];
        const accountId = newId('acct');
        const records = await Promise.all(
          made.map(({ atMs, key, model, outcome, counts, searches }) =>
            record(
              service,
              report({
                call: call({ accountId, keyId: key, modelId: model, startedAtMs: atMs, ...searching(searches) }),
                tokens: tokens({ ...counts, ...(searches > 0 ? { units: { counts: [{ unit: 'web_search', count: searches }] } } : {}) }),
                outcome,
              }),
            ),
          ),
        );
        // Otherwise they are read from the records, or partly from both.
        if (isRolledUp) await until(async () => !(await readRollupState(harness.db)).isWaiting);
        const within = records.filter(({ call: { startedAtMs: atMs } = call() }) => atMs >= fromMs && (untilMs === 0n || atMs < untilMs));
        for (const groupBy of groupings) {
          for (const thenBy of groupBy === GroupBy.GROUP_BY_UNSPECIFIED ? [groupBy] : groupings.filter((each) => each !== groupBy)) {
            const groups = await totals(service, { filter: { accountId, fromMs, untilMs }, groupBy, thenBy, offsetMinutes });
            // Without groups there is always one, even over nothing.
            expect(byName(groups.filter(({ calls }) => calls > 0n))).toEqual(byName(scan(within, groupBy, thenBy, offset)));
          }
        }
      }),
      { numRuns: 20 },
    );
  }, 60_000);

  it('omit and repeat nothing while calls are recorded', async () => {
    const accountId = newId('acct');
    const filter = { accountId };
    let isRecording = true;
    const recording = (async () => {
      for (let round = 0; round < 10; round += 1) {
        await Promise.all(
          Array.from({ length: 20 }, (_, index) => record(service, report({ call: call({ accountId, keyId: keys[index % 3]! }) }))),
        );
      }
      isRecording = false;
    })();
    let before = 0n;
    while (isRecording) {
      const groups = await totals(service, { filter, groupBy: GroupBy.GROUP_BY_DAY, thenBy: GroupBy.GROUP_BY_KEY });
      const counted = groups.reduce((sum, { calls }) => sum + calls, 0n);
      // Each of these calls costs 200,000 nano-dollars, so a sum that contains part of a record would show.
      expect(groups.reduce((sum, { chargeNanoUsd }) => sum + chargeNanoUsd, 0n)).toBe(counted * 200_000n);
      expect(counted).toBeGreaterThanOrEqual(before);
      before = counted;
      // A SQLite database responds without giving the records a turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await recording;
    expect(await totals(service, { filter })).toMatchObject([{ calls: 200n, chargeNanoUsd: 40_000_000n }]);
  });

  it('return nested groups in the order of a chart', async () => {
    const accountId = newId('acct');
    const at = (minutes: number, modelId: string, inputTokens: number) =>
      record(
        service,
        report({
          call: call({ accountId, modelId, startedAtMs: startedAtMs + BigInt(minutes * 60_000) }),
          tokens: tokens({ inputTokens }),
        }),
      );
    // 1,800,000,000,000 is 2027-01-15T08:00Z.
    await at(0, 'cheap', 10);
    await at(50, 'dear', 1000);
    await at(59, 'dear', 1000);
    await at(60, 'cheap', 3000);
    const shown = async (groupBy: GroupBy, thenBy: GroupBy, offsetMinutes: number) =>
      (await totals(service, { filter: { accountId }, groupBy, thenBy, offsetMinutes })).map(({ name, thenName, calls }) => [
        name,
        thenName,
        Number(calls),
      ]);
    expect(await shown(GroupBy.GROUP_BY_HOUR, GroupBy.GROUP_BY_MODEL, 0)).toEqual([
      ['2027-01-15T08:00Z', 'dear', 2],
      ['2027-01-15T08:00Z', 'cheap', 1],
      ['2027-01-15T09:00Z', 'cheap', 1],
    ]);
    expect(await shown(GroupBy.GROUP_BY_HOUR, GroupBy.GROUP_BY_MODEL, 345)).toEqual([
      ['2027-01-15T13:00+05:45', 'cheap', 1],
      ['2027-01-15T14:00+05:45', 'cheap', 1],
      ['2027-01-15T14:00+05:45', 'dear', 2],
    ]);
    expect(await shown(GroupBy.GROUP_BY_MODEL, GroupBy.GROUP_BY_DAY, -510)).toEqual([
      ['cheap', '2027-01-14', 1],
      ['cheap', '2027-01-15', 1],
      ['dear', '2027-01-15', 2],
    ]);
  });

  it('raise too_many_groups instead of omitting rows beyond the maximum', async () => {
    const accountId = newId('acct');
    for (const keyId of keys) await record(service, report({ call: call({ accountId, keyId }) }));
    await until(async () => !(await readRollupState(harness.db)).isWaiting);
    const grouping = { groupBy: GroupBy.GROUP_BY_KEY, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 };
    const keysWithin = (rowsMax: number) =>
      harness.db.plainTransaction((tx) => sumIn(tx, UsageFilter.fromPartial({ accountId }), grouping, rowsMax));
    expect(await keysWithin(3)).toHaveLength(3);
    await expect(keysWithin(2)).rejects.toMatchObject({ details: { rule: 'too_many_groups' } });
  });

  it('add up the records of an account with very many series in stretches, and end once there are too many groups', async () => {
    const accountId = newId('acct');
    const first = await record(service, report({ call: call({ accountId }) }));
    await until(async () => !(await readRollupState(harness.db)).isWaiting);
    const id = bytesOf('req', first.call!.id);
    const [row] = await harness.db.knex('usage_record').where({ id });
    const start = Number(startedAtMs);
    const others = Array.from({ length: 13_000 }, (_, index) => ({
      ...row,
      id: randomBytes(16),
      key_id: randomBytes(16),
      started_at_ms: start + index + 1,
    }));
    const [series] = await harness.db.knex('usage_series').where({ shape: Shape.key, account_id: bytesOf('acct', accountId) });
    const manySeries = Array.from({ length: 5100 }, (_, index) => ({ ...series, dimensions_hash: randomBytes(16), series: index + 2 }));
    for (let from = 0; from < others.length; from += 400) {
      await harness.db.knex('usage_record').insert(others.slice(from, from + 400));
      if (from < manySeries.length) await harness.db.knex('usage_series').insert(manySeries.slice(from, from + 400));
    }
    const grouping = { groupBy: GroupBy.GROUP_BY_KEY, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 };
    const { db, texts } = notingTexts(harness.db);
    const some = UsageFilter.fromPartial({ accountId, untilMs: startedAtMs + 3000n });
    const groups = await sumRecords(db, some, grouping);
    expect([groups.length, groups.reduce((sum, { calls }) => sum + calls, 0n)]).toEqual([3000, 3000n]);
    const before = texts.length;
    await expect(sumRecords(db, UsageFilter.fromPartial({ accountId }), grouping)).rejects.toMatchObject({
      details: { rule: 'too_many_groups' },
    });
    const sums = texts.slice(before).filter((text) => text.includes('FROM usage_record r') && text.includes('SUM(r.charge_nano_usd)'));
    // The first ones have ten thousand groups.
    expect([sums.length >= 10, sums.length <= 11]).toEqual([true, true]);
    expect(sums.filter((text) => !/r\.started_at_ms >= \?/.test(text))).toEqual([]);
    // A caller that is gone ends the scan after one stretch.
    const read = texts.length;
    const request = sumRecords(db, UsageFilter.fromPartial({ accountId }), grouping, AbortSignal.abort(new Error('gone')));
    await expect(request).rejects.toThrow('gone');
    expect(texts.slice(read).filter((text) => text.includes('SUM(r.charge_nano_usd)')).length).toBeLessThan(2);
  }, 60_000);

  it('find out from a few sums that there are too many groups of days or hours', async () => {
    const accountId = newId('acct');
    for (const keyId of Array.from({ length: 25 }, () => newId('key'))) await record(service, report({ call: call({ accountId, keyId }) }));
    await until(async () => !(await readRollupState(harness.db)).isWaiting);
    const ofAccount = { account_id: bytesOf('acct', accountId), part: blocksOf(Shape.key) };
    const rows = (await harness.db.knex('usage_sum').where(ofAccount)) as { bucket_ms: unknown }[];
    expect(rows).toHaveLength(25);
    const more = rows.flatMap((row) =>
      Array.from({ length: 450 }, (_, day) => ({ ...row, bucket_ms: Number(row.bucket_ms) - (day + 1) * dayMs })),
    );
    for (let from = 0; from < more.length; from += 400) await harness.db.knex('usage_sum').insert(more.slice(from, from + 400));
    const { db, texts } = notingTexts(harness.db);
    const grouping = { groupBy: GroupBy.GROUP_BY_DAY, thenBy: GroupBy.GROUP_BY_KEY, offsetMinutes: 0 };
    await expect(sumRecords(db, UsageFilter.fromPartial({ accountId }), grouping)).rejects.toMatchObject({
      details: { rule: 'too_many_groups' },
    });
    expect(texts.filter((text) => text.includes('SUM('))).toEqual([]);
    const recent = UsageFilter.fromPartial({ accountId, fromMs: startedAtMs - BigInt(300 * dayMs) });
    expect((await sumRecords(db, recent, grouping)).length).toBeLessThan(25 * 302);
  }, 60_000);

  it.each([
    ['group_by', { groupBy: 7 as GroupBy }],
    ['then_by', { groupBy: GroupBy.GROUP_BY_DAY, thenBy: 7 as GroupBy }],
    ['then_by', { thenBy: GroupBy.GROUP_BY_DAY }],
    ['then_by', { groupBy: GroupBy.GROUP_BY_DAY, thenBy: GroupBy.GROUP_BY_DAY }],
    ['offset_minutes', { offsetMinutes: 50 }],
    ['offset_minutes', { offsetMinutes: 855 }],
    ['offset_minutes', { offsetMinutes: -735 }],
  ])('are rejected for a malformed %s', async (field, changes) => {
    await expect(totals(service, changes)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });
});
