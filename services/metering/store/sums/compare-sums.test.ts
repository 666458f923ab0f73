import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { type MeteringService, Outcome } from '#proto/metering/v1/metering.js';
import { blockMs, quarterMs, quartersOf, Shape, shapes } from '../../rollups/shapes.js';
import { call, price, report, startedAtMs, tokens } from '../../testing/calls.js';
import { Harness, record, until } from '../../testing/harness.js';
import { bytesOf } from '../records/record-rows.js';
import { type Quarter, readAtOnce, readPaced, type ReadSides } from './both-sides.js';
import { chooseSeries, compareSums, type WrongSum } from './compare-sums.js';
import { compareUnitSums } from './compare-unit-sums.js';
import { Phase, readRollupState, rebuildRollups } from './rollup-steps.js';

/** A quarter of an hour that is neither the first of its hour nor of its block or span. */
const startMs = Number(startedAtMs) + 7 * quarterMs;

it('chooses ten of twenty series, all with the same probability', () => {
  const counts = new Map<number, number>();
  for (let times = 0; times < 2000; times += 1) {
    const chosen = chooseSeries(20, 10);
    expect(new Set(chosen).size).toBe(10);
    for (const series of chosen) counts.set(series, (counts.get(series) ?? 0) + 1);
  }
  expect([...counts.keys()].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  // 1000 are expected of each; the deviation is 22.
  expect([Math.min(...counts.values()) > 850, Math.max(...counts.values()) < 1150]).toEqual([true, true]);
  expect(chooseSeries(3, 10).toSorted()).toEqual([1, 2, 3]);
});

describe.each(testEngines)('the comparison of sums with records on %s', (engine) => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.create(engine);
  });

  afterEach(() => harness.close());

  const inThreeParts = { recordsMax: 0, partMs: quarterMs / 3, valuesMax: Infinity };

  type Compare = (quarter: Quarter, read: ReadSides) => Promise<WrongSum[]>;
  const compareAll: Compare = (quarter, read) => compareSums(harness.db, quarter, read);
  /** As if all shapes had very many series. */
  const compareOfRecords: Compare = (quarter, read) => compareSums(harness.db, quarter, read, 0);

  /** Compares what is read at one instant, and what is read a part at a time, which must show the same. */
  const compareBoth = async (compare: Compare, quarter: Quarter): Promise<WrongSum[]> => {
    const wrong = await compare(quarter, (sides) => readAtOnce(harness.db, quarter, sides));
    let steps = 0;
    const pacer = { step: async () => void (steps += 1) };
    expect(await compare(quarter, (sides) => readPaced(harness.db, quarter, sides, pacer, inThreeParts))).toEqual(wrong);
    const { accountId } = quarter;
    const records = harness.db.knex('usage_record').where({ account_id: bytesOf('acct', accountId) });
    const [inQuarter] = await records
      .whereBetween('started_at_ms', [quarter.startMs, quarter.startMs + quarterMs - 1])
      .count({ calls: '*' });
    if (Number(inQuarter!['calls']) === 0) expect(steps).toBe(0);
    else expect([steps > 0, steps % 3]).toEqual([true, 0]);
    return wrong;
  };

  it.each([
    ['in all series', () => compareAll],
    ['in the series of the records', () => compareOfRecords],
  ])(
    'finds every row that is wrong or missing %s, and nothing when all are correct',
    async (_name, of) => {
      const compare = of();
      const { service } = await harness.replica();
      const accountId = newId('acct');
      const keys = [newId('key'), newId('key')];
      for (const [keyId, modelId, outcome] of [
        [keys[0], 'one', Outcome.OUTCOME_COMPLETED],
        [keys[1], 'two', Outcome.OUTCOME_TIMEOUT],
        [keys[0], 'two', Outcome.OUTCOME_COMPLETED],
      ] as const) {
        await record(service, report({ call: call({ accountId, keyId: keyId!, modelId, startedAtMs: BigInt(startMs) }), outcome }));
      }
      await until(async () => {
        const { phase, isWaiting } = await readRollupState(harness.db);
        return phase === Phase.complete && !isWaiting;
      });
      const quarter = { accountId, startMs };
      expect(await compareBoth(compare, quarter)).toEqual([]);
      const keyColumns = ['account_id', 'part', 'series', 'bucket_ms'] as const;
      const rows = (await harness.db.knex('usage_sum').select()) as Record<string, unknown>[];
      // Each of the shapes three times.
      expect(new Set(rows.map((row) => row['part'])).size).toBe(shapes.length * 3);
      for (const row of rows) {
        const only = Object.fromEntries(keyColumns.map((column) => [column, row[column]]));
        await harness.db.knex('usage_sum').where(only).decrement('charge_nano_usd', 1);
        expect(await compareBoth(compare, quarter)).not.toEqual([]);
        await harness.db.knex('usage_sum').where(only).delete();
        expect(await compareBoth(compare, quarter)).not.toEqual([]);
        await harness.db.knex('usage_sum').insert(row);
      }
      expect(await compareBoth(compare, quarter)).toEqual([]);
    },
    60_000,
  );

  it('looks up few of the series of an account with very many, and finds what is wrong in those of the records', async () => {
    const { service } = await harness.replica();
    const accountId = newId('acct');
    for (let others = 0; others < 70; others += 1)
      await record(service, report({ call: call({ accountId, keyId: newId('key'), startedAtMs: BigInt(startMs + dayMs) }) }));
    await record(service, report({ call: call({ accountId, keyId: newId('key'), startedAtMs: BigInt(startMs) }) }));
    await until(async () => !(await readRollupState(harness.db)).isWaiting);
    const quarter = { accountId, startMs };
    let looked = 0;
    const compare: Compare = (_quarter, read) =>
      compareSums(harness.db, quarter, (sides) => {
        for (const { text, values } of sides.sums) if (text.includes('series IN')) looked = Math.max(looked, new Set(values.slice(4)).size);
        return read(sides);
      });
    expect(await compareBoth(compare, quarter)).toEqual([]);
    expect([looked > 1, looked <= 11]).toEqual([true, true]);
    await harness.db
      .knex('usage_sum')
      .where({
        account_id: bytesOf('acct', accountId),
        part: quartersOf(Shape.key, Math.floor((startMs % dayMs) / blockMs)),
        bucket_ms: startMs,
      })
      .increment('calls', 1);
    expect(await compareBoth(compare, quarter)).toMatchObject([
      { what: expect.stringContaining('sum of calls by key in the quarter'), stored: 2n, expected: 1n },
      { what: expect.stringContaining('sum of calls by key in the block'), stored: 1n, expected: 2n },
      { what: expect.stringContaining('sum of calls by key in the hour'), stored: 1n, expected: 2n },
    ]);
  }, 60_000);

  it('finds nothing in other quarters, in other accounts, among calls that wait to be added, or while all sums are rebuilt', async () => {
    const accountId = newId('acct');
    const quarter = { accountId, startMs };
    const priced = price({ units: [{ unit: 'request', nanoUsd: 7n, maxPerCall: 1 }] });
    const instants = [-quarterMs, -1, 0, 1, quarterMs - 1, quarterMs, 2 * quarterMs, dayMs].map((ms) => BigInt(startMs + ms));
    const recordAll = async (service: MeteringService): Promise<void> => {
      for (const each of [accountId, newId('acct')])
        for (const at of instants) await record(service, report({ call: call({ accountId: each, price: priced, startedAtMs: at }) }));
    };
    const wrong = async () => [...(await compareBoth(compareAll, quarter)), ...(await compareBoth(compareUnitSums, quarter))];
    const adding = await harness.replica();
    await recordAll(adding.service);
    await until(async () => !(await readRollupState(harness.db)).isWaiting);
    expect(await wrong()).toEqual([]);
    await adding.stop();
    await recordAll((await harness.replica({ foldIntervalMs: 600_000 })).service);
    expect((await readRollupState(harness.db)).isWaiting).toBe(true);
    expect(await wrong()).toEqual([]);
    for (const table of ['usage_sum', 'usage_unit_sum']) await harness.db.knex(table).delete();
    expect((await wrong()).map(({ stored }) => stored)).toContain(0n);
    await rebuildRollups(harness.db);
    expect(await wrong()).toEqual([]);
  }, 60_000);

  it('is left to a later run if calls are recorded while their quarter is read a part at a time', async () => {
    const { service } = await harness.replica();
    const accountId = newId('acct');
    const quarter = { accountId, startMs };
    const recordOne = () => record(service, report({ call: call({ accountId, startedAtMs: BigInt(startMs) }) }));
    const allAdded = () => until(async () => !(await readRollupState(harness.db)).isWaiting);
    await recordOne();
    await allAdded();
    await harness.db.knex('usage_sum').where('calls', 1).update({ calls: 2 });
    /** Returns what is found if a call is recorded, and perhaps added to the sums, after the first part, which contains it. */
    const found = (after: () => Promise<unknown>): Promise<WrongSum[]> => {
      let parts = 0;
      const read: ReadSides = (sides) =>
        readPaced(harness.db, quarter, sides, { step: async () => void ((parts += 1) === 1 && (await after())) }, inThreeParts);
      return compareAll(quarter, read);
    };
    expect(await found(recordOne)).toEqual([]);
    await allAdded();
    expect(await found(async () => recordOne().then(allAdded))).toEqual([]);
    expect(await found(async () => undefined)).not.toEqual([]);
  });

  it('finds wrong counts and amounts of units that are not tokens, and nothing while records wait to be added', async () => {
    const { service } = await harness.replica();
    const accountId = newId('acct');
    const quarter = { accountId, startMs: Number(startedAtMs) - (Number(startedAtMs) % quarterMs) };
    const units = [
      { unit: 'request', nanoUsd: 7n, maxPerCall: 1 },
      { unit: 'web_search', nanoUsd: 10n, maxPerCall: 9 },
    ];
    const unitCaps = { counts: [{ unit: 'web_search', count: 9 }] };
    for (const count of [2, 3]) {
      const counted = tokens({ inputTokens: 1, units: { counts: [{ unit: 'web_search', count }] } });
      await record(service, report({ call: call({ accountId, price: price({ units }), unitCaps }), tokens: counted }));
      expect(await compareBoth(compareUnitSums, quarter)).toEqual([]);
    }
    await until(async () => !(await readRollupState(harness.db)).isWaiting);
    expect(await compareBoth(compareUnitSums, quarter)).toEqual([]);
    const rows = (await harness.db.knex('usage_unit_sum').select()) as Record<string, unknown>[];
    expect(rows).toHaveLength(4);
    const subjectsOf = async () => (await compareBoth(compareUnitSums, quarter)).map(({ what }) => what.replace(/ in the quarter.*/, ''));
    for (const row of rows) {
      const { quantity: _quantity, charge_nano_usd: _charge, ...only } = row;
      const unit = String(row['unit']);
      await harness.db.knex('usage_unit_sum').where(only).increment('quantity', 1);
      expect(await subjectsOf()).toEqual([`sum of the unit ${unit}`]);
      await harness.db.knex('usage_unit_sum').where(only).update({ quantity: row['quantity'], charge_nano_usd: 1 });
      expect(await subjectsOf()).toEqual([`sum of the charge of the unit ${unit}`]);
      await harness.db.knex('usage_unit_sum').where(only).delete();
      expect(await subjectsOf()).toEqual([`sum of the unit ${unit}`, `sum of the charge of the unit ${unit}`]);
      await harness.db.knex('usage_unit_sum').insert(row);
    }
    await harness.db.knex('usage_unit_sum').insert({ ...rows[0], unit: 'image', quantity: 1, charge_nano_usd: 5 });
    expect(await compareBoth(compareUnitSums, quarter)).toMatchObject([
      { stored: 1n, expected: 0n },
      { stored: 5n, expected: 0n },
    ]);
    await harness.db.knex('usage_unit_sum').where({ unit: 'image' }).delete();
    expect(await compareBoth(compareUnitSums, quarter)).toEqual([]);
  });
});
