// Pages of records filtered by model, by outcome or by several dimensions are found with the help of sums. They must equal those of a plain scan, however
// complete the sums are.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { notingTexts } from '#kit/testing/statements.js';
import {
  GetUsageTotalsRequest,
  GroupBy,
  Outcome,
  type MeteringService,
  UsageFilter,
  type UsageRecord,
} from '#proto/metering/v1/metering.js';
import { call, report, startedAtMs } from '../../testing/calls.js';
import { Harness, record } from '../../testing/harness.js';
import { backfill, clearRollups, rollUpPending, removeRecords, rebuildRollups, pendingAfter } from '../sums/rollup-steps.js';
import { quartersWithCalls } from '../totals/quarters-with-calls.js';
import { findRecords } from './queries.js';
import { bytesOf } from './record-rows.js';
import { SeriesNumbers } from '../sums/rollups.js';

const quarterMs = 900_000;
const models = ['sandbox/echo', 'vendor/größer', 'vendor/Größer'];
const outcomes = [Outcome.OUTCOME_COMPLETED, Outcome.OUTCOME_CLIENT_DISCONNECTED, Outcome.OUTCOME_TIMEOUT];
const below = (limit: number): number => Math.floor(Math.random() * limit);
/** Returns one of the items, the first most often. */
const oneOf = <T>(items: readonly T[]): T => items[Math.floor(Math.random() ** 2 * items.length)]!;
/** Returns a quarter hour of two days or a millisecond next to it. */
const someInstant = (): bigint => startedAtMs + BigInt(below(192) * quarterMs + below(3) - 1);

describe.each(testEngines)('pages of records by several things on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  let keys: string[];
  let projects: string[];
  const accountId = newId('acct');

  beforeEach(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica({ foldIntervalMs: 600_000 }));
    keys = [newId('key'), newId('key'), newId('key')];
    projects = [newId('proj'), newId('proj'), newId('proj')];
  });

  afterEach(() => harness.close());

  const someFilter = (): UsageFilter => {
    const left = below(8);
    const fromMs = below(2) === 0 ? 0n : someInstant();
    return UsageFilter.fromPartial({
      // All records are of this account.
      accountId: below(3) === 0 ? '' : accountId,
      projectIds: [[oneOf(projects)], [], [], projects.slice(0, 2)][below(4)]!,
      keyId: left === 0 || left > 5 ? '' : oneOf(keys),
      keyIds: [[], [], [newId('key'), keys[1]!], keys.slice(0, 2)][below(4)]!,
      modelId: left === 1 || left === 6 ? '' : oneOf(models),
      outcome: left === 2 || left === 7 ? Outcome.OUTCOME_UNSPECIFIED : oneOf(outcomes),
      fromMs,
      untilMs: below(2) === 0 ? 0n : fromMs + BigInt(below(100) * quarterMs + below(quarterMs)) + (fromMs === 0n ? startedAtMs : 0n),
    });
  };

  async function pages(filter: UsageFilter, pageSize: number): Promise<string[]> {
    const found: UsageRecord[] = [];
    let pageToken = '';
    do {
      const page = await service.listUsageRecords({ filter, pageSize, pageToken });
      expect(page.records.length === pageSize || page.nextPageToken === '').toBe(true);
      found.push(...page.records);
      pageToken = page.nextPageToken;
    } while (pageToken !== '' && found.length < 1000);
    return found.map((stored) => stored.call!.id);
  }

  const matches = (filter: UsageFilter, { call: made, outcome }: UsageRecord): boolean =>
    (filter.projectIds.length === 0 || filter.projectIds.includes(made!.projectId)) &&
    (filter.keyId === '' || filter.keyId === made!.keyId) &&
    (filter.keyIds.length === 0 || filter.keyIds.includes(made!.keyId)) &&
    (filter.modelId === '' || filter.modelId === made!.modelId) &&
    (filter.outcome === Outcome.OUTCOME_UNSPECIFIED || filter.outcome === outcome) &&
    made!.startedAtMs >= filter.fromMs &&
    (filter.untilMs === 0n || made!.startedAtMs < filter.untilMs);

  const newestFirst = (a: UsageRecord, b: UsageRecord): number => {
    const [one, other] = [a.call!, b.call!];
    if (one.startedAtMs !== other.startedAtMs) return one.startedAtMs < other.startedAtMs ? 1 : -1;
    return one.id < other.id ? 1 : -1;
  };

  it('are those of a scan, with none, some and all of them in the sums, and when some are removed', async () => {
    const made: UsageRecord[] = [];
    const makeSome = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index += 1) {
        made.push(
          await record(
            service,
            report({
              call: call({
                accountId,
                projectId: oneOf(projects),
                keyId: oneOf(keys),
                modelId: oneOf(models),
                startedAtMs: someInstant(),
              }),
              outcome: oneOf(outcomes),
            }),
          ),
        );
      }
    };
    const check = async (): Promise<void> => {
      for (let again = 0; again < 25; again += 1) {
        const filter = someFilter();
        const expected = made
          .filter((each) => matches(filter, each))
          .toSorted(newestFirst)
          .map((each) => each.call!.id);
        expect(await pages(filter, 1 + below(9))).toEqual(expected);
      }
    };
    await rebuildRollups(harness.db);
    await makeSome(60);
    await check();
    await clearRollups(harness.db);
    const numbers = new SeriesNumbers();
    await backfill(harness.db, numbers, 1000);
    await makeSome(60);
    await check();
    const { ids } = await pendingAfter(harness.db, Buffer.alloc(16), 1000);
    expect(ids).toHaveLength(60);
    await rollUpPending(harness.db, numbers, ids.slice(0, 30));
    await check();
    await rollUpPending(harness.db, numbers, ids);
    await check();
    const gone = made.splice(0, 15);
    await removeRecords(
      harness.db,
      numbers,
      gone.map(({ call: removed }) => bytesOf('req', removed!.id)),
    );
    await check();
  }, 120_000);

  it('of all accounts are found among many others, some of which started at the same instant', async () => {
    const make = async (modelId: string, minutes: number): Promise<string> =>
      (await record(service, report({ call: call({ modelId, startedAtMs: startedAtMs + BigInt(minutes * 60_000) }) }))).call!.id;
    const first = await make('rare', 0);
    const other = await make('frequent', 10);
    const last = await make('rare', 20);
    const [row] = await harness.db.knex('usage_record').where({ id: bytesOf('req', other) });
    const others = Array.from({ length: 12_000 }, (_, index) => ({
      ...row,
      id: randomBytes(16),
      started_at_ms: Number(startedAtMs) + (index % 2 === 0 ? 600_000 : index),
    }));
    for (let start = 0; start < others.length; start += 400) await harness.db.knex('usage_record').insert(others.slice(start, start + 400));
    const rare = UsageFilter.fromPartial({ modelId: 'rare' });
    expect(await pages(rare, 1)).toEqual([last, first]);
    expect(await pages(rare, 5)).toEqual([last, first]);
    expect(await pages({ ...rare, fromMs: startedAtMs + 1n }, 5)).toEqual([last]);
    expect(await pages({ ...rare, untilMs: startedAtMs + 1_200_000n }, 5)).toEqual([first]);
    expect(await pages(UsageFilter.fromPartial({ modelId: 'none' }), 5)).toEqual([]);
  }, 60_000);

  it('are searched in stretches while very many records wait to be added to the sums', async () => {
    const make = async (modelId: string, minutes: number): Promise<string> =>
      (await record(service, report({ call: call({ accountId, modelId, startedAtMs: startedAtMs + BigInt(minutes * 60_000) }) }))).call!.id;
    const first = await make('rare', 0);
    const other = await make('frequent', 10);
    const last = await make('rare', 20);
    const [row] = await harness.db.knex('usage_record').where({ id: bytesOf('req', other) });
    const others = Array.from({ length: 6000 }, (_, index) => ({
      ...row,
      id: randomBytes(16),
      started_at_ms: Number(startedAtMs) + index,
    }));
    for (let start = 0; start < others.length; start += 400) {
      const some = others.slice(start, start + 400);
      await harness.db.knex('usage_record').insert(some);
      await harness.db.knex('usage_unfolded').insert(some.map(({ id, account_id }) => ({ id, account_id })));
    }
    const rare = UsageFilter.fromPartial({ accountId, modelId: 'rare' });
    expect(await quartersWithCalls(harness.db, rare, Infinity, 50)).toBeUndefined();
    expect(await pages(rare, 1)).toEqual([last, first]);
    const { db, texts } = notingTexts(harness.db);
    expect((await findRecords(db, rare, undefined, 50)).map(({ call: found }) => found!.id)).toEqual([last, first]);
    const searches = texts.filter((text) => text.includes('usage_record') && text.includes('model_id = ?'));
    // The last stretch has no beginning.
    expect([searches.length, searches.filter((text) => !text.includes('started_at_ms >= ?')).length]).toEqual([2, 1]);
    await expect(findRecords(db, rare, undefined, 50, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  }, 60_000);

  it('are searched only in periods with such calls', async () => {
    const numbers = new SeriesNumbers();
    const at = (quarter: number): bigint => startedAtMs + BigInt(quarter * quarterMs);
    for (let quarter = 0; quarter < 20; quarter += 1)
      await record(
        service,
        report({
          call: call({
            accountId,
            // A key that moves from project to project.
            projectId: projects[quarter % 2]!,
            keyId: keys[quarter % 5 === 0 ? 1 : 0]!,
            modelId: models[0]!,
            startedAtMs: at(quarter),
          }),
        }),
      );
    const filter = UsageFilter.fromPartial({ accountId, keyId: keys[1]!, modelId: models[0]! });
    const waiting = await quartersWithCalls(harness.db, filter, Infinity, 50);
    await rollUpPending(harness.db, numbers, (await pendingAfter(harness.db, Buffer.alloc(16), 100)).ids);
    const all = await quartersWithCalls(harness.db, filter, Infinity, 50);
    expect(all).toEqual(waiting);
    const start = (quarter: number): number => Number(at(quarter)) - (Number(at(quarter)) % quarterMs);
    expect(all).toEqual({
      areAll: true,
      stretches: [15, 10, 5, 0].map((quarter) => ({ fromMs: start(quarter), untilMs: start(quarter) + quarterMs })),
    });
    expect((await quartersWithCalls(harness.db, filter, Number(at(10)), 1))!.stretches.map(({ fromMs }) => fromMs)).toEqual([start(5)]);
    expect(
      (await quartersWithCalls(harness.db, UsageFilter.fromPartial({ accountId, modelId: models[0]! }), Infinity, 50))!.stretches,
    ).toHaveLength(20);
    const ofProject = UsageFilter.fromPartial({ accountId, projectIds: [projects[0]!] });
    expect((await quartersWithCalls(harness.db, ofProject, Infinity, 50))!.stretches.map(({ fromMs }) => fromMs)).toEqual(
      [18, 16, 14, 12, 10, 8, 6, 4, 2, 0].map(start),
    );
    const many = [...Array.from({ length: 999 }, () => newId('key')), keys[1]!];
    expect(await pages(UsageFilter.fromPartial({ accountId, keyIds: many }), 3)).toHaveLength(4);
    expect(await pages(UsageFilter.fromPartial({ accountId, keyIds: many, modelId: models[0]! }), 100)).toHaveLength(4);
    const { groups } = await service.getUsageTotals(
      GetUsageTotalsRequest.fromPartial({ filter: { accountId, keyIds: many, fromMs: at(1) + 1n }, groupBy: GroupBy.GROUP_BY_HOUR }),
    );
    expect(groups.reduce((sum, { calls }) => sum + calls, 0n)).toBe(3n);
    await expect(
      service.listUsageRecords({ filter: { ...filter, keyIds: [...many, keys[0]!] }, pageSize: 1, pageToken: '' }),
    ).rejects.toThrow(expect.objectContaining({ reason: 'invalid_request' }));
    // This query can use an index.
    expect(await quartersWithCalls(harness.db, UsageFilter.fromPartial({ accountId, keyId: keys[1]! }), Infinity, 50)).toBeUndefined();
  }, 60_000);
});
