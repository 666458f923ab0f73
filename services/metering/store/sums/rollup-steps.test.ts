// Whatever happens to records and their sums, totals always equal those of the records that exist at that moment.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { dayMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { openDatabase } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { Outcome, GroupBy, type MeteringService, UsageFilter, UsageSource } from '#proto/metering/v1/metering.js';
import { call, price, report, startedAtMs, tokens } from '../../testing/calls.js';
import { Harness, record, until } from '../../testing/harness.js';
import { byName, groupings, scan, zones } from '../../testing/scan.js';
import { priceRecord } from '../../records/usage-record.js';
import { validateCall } from '../../requests/validate-call.js';
import { insertLostRecord, replaceLostRecord } from '../records/close-calls.js';
import {
  backfill,
  clearRollups,
  leaseRollup,
  pendingAfter,
  Phase,
  readRollupState,
  rebuildRollups,
  removeRecords,
  rollUpPending,
} from './rollup-steps.js';
import { RefundState } from '../settlement/refund-outbox.js';
import { putOpenCalls } from '../records/open-calls.js';
import { allRecordColumns, bytesOf, recordFromRow, type RecordRow } from '../records/record-rows.js';
import { SeriesNumbers } from './rollups.js';
import { sumIn } from '../totals/totals.js';

const models = ['sandbox/echo', 'vendor/größer', 'vendor/Größer'];
const outcomes = [
  Outcome.OUTCOME_COMPLETED,
  Outcome.OUTCOME_COMPLETED,
  Outcome.OUTCOME_CLIENT_DISCONNECTED,
  Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT,
  Outcome.OUTCOME_TIMEOUT,
];
const quarterMs = 900_000;
const daysMax = 11;

const below = (limit: number): number => Math.floor(Math.random() * limit);
const oneOf = <T>(items: readonly T[]): T => items[below(items.length)]!;
/** Returns a quarter of an hour or the milliseconds around it: sums are cut there. */
const someInstant = (): bigint => startedAtMs + BigInt(below(daysMax * 96) * quarterMs + below(3) - 1);

describe.each(testEngines)('the source of totals on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  let accountId: string;
  let keys: string[];
  // Keys move between them.
  let projects: string[];
  const extra: Database[] = [];

  beforeEach(async () => {
    harness = await Harness.create(engine);
    accountId = newId('acct');
    keys = [newId('key'), newId('key'), newId('key')];
    projects = [newId('proj'), newId('proj'), newId('proj')];
  });

  afterEach(async () => {
    await harness.close();
    for (const db of extra.splice(0)) await db.close();
  });

  // Of tokens alone, and of requests too.
  const prices = [price(), price({ units: [{ unit: 'request', nanoUsd: 7n, maxPerCall: 1 }] })];
  const someCall = () =>
    call({
      accountId,
      projectId: oneOf(projects),
      keyId: oneOf(keys),
      modelId: oneOf(models),
      startedAtMs: someInstant(),
      price: oneOf(prices),
    });
  const recordSome = async (): Promise<string> => {
    const made = await record(
      service,
      report({
        call: someCall(),
        outcome: oneOf(outcomes),
        tokens: tokens({ inputTokens: below(10_000), cacheReadTokens: below(99), outputTokens: below(100) }),
        quarantined: below(9) === 0,
        ...(below(4) === 0 ? { firstOutputMs: undefined } : {}),
      }),
    );
    return made.call!.id;
  };

  /** Returns a transaction runner in which all statements see one instant. */
  async function snapshots(): Promise<<T>(work: (tx: PlainTransaction) => Promise<T>) => Promise<T>> {
    if (engine === 'sqlite') return (work) => harness.db.plainTransaction(work);
    const db = openDatabase(harness.url);
    extra.push(db);
    return (work) =>
      db.plainTransaction(async (tx) => {
        // Applies to the following transactions on this connection; the first here only sets it.
        await tx.run('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ', []);
        await tx.run('COMMIT', []);
        await tx.run('BEGIN', []);
        return work(tx);
      });
  }

  const isRolledUp = async (): Promise<boolean> => {
    const { phase, isWaiting } = await readRollupState(harness.db);
    return phase === Phase.complete && !isWaiting;
  };

  const question = () => {
    const groupBy = oneOf(groupings);
    const thenBy = groupBy === GroupBy.GROUP_BY_UNSPECIFIED ? groupBy : oneOf(groupings.filter((each) => each !== groupBy));
    const [offsetMinutes, offset] = oneOf(zones);
    const fromMs = below(2) === 0 ? 0n : someInstant();
    const filter = UsageFilter.fromPartial({
      accountId,
      projectIds: [[oneOf(projects)], [], [], projects.slice(0, 2)][below(4)]!,
      keyId: below(3) === 0 ? oneOf(keys) : '',
      modelId: below(3) === 0 ? oneOf(models) : '',
      outcome: below(3) === 0 ? oneOf(outcomes) : Outcome.OUTCOME_UNSPECIFIED,
      fromMs,
      untilMs: below(2) === 0 ? 0n : fromMs + BigInt(below(daysMax * 24 * 4) * quarterMs + below(quarterMs)),
    });
    return { filter, groupBy, thenBy, offsetMinutes, offset };
  };

  /** Queries sums and adds the records up, at one instant; returns how far the kept sums were. */
  async function compare(tx: PlainTransaction): Promise<Phase> {
    const { filter, groupBy, thenBy, offsetMinutes, offset } = question();
    const rows = (await tx.query(`SELECT ${allRecordColumns.join(', ')} FROM usage_record WHERE account_id = ?`, [
      bytesOf('acct', accountId),
    ])) as unknown as RecordRow[];
    const records = rows.map(recordFromRow).filter(({ call: made, outcome }) => {
      const { projectId, keyId, modelId, startedAtMs: atMs } = made!;
      if (filter.projectIds.length > 0 && !filter.projectIds.includes(projectId)) return false;
      if (filter.keyId !== '' && filter.keyId !== keyId) return false;
      if (filter.modelId !== '' && filter.modelId !== modelId) return false;
      if (filter.outcome !== Outcome.OUTCOME_UNSPECIFIED && filter.outcome !== outcome) return false;
      return atMs >= filter.fromMs && (filter.untilMs === 0n || atMs < filter.untilMs);
    });
    const sums = await sumIn(tx, filter, { groupBy, thenBy, offsetMinutes });
    const [state] = await tx.query('SELECT phase FROM usage_summing', []);
    // Without groups there is always one, even over nothing.
    expect(byName(sums.filter(({ calls }) => calls > 0n))).toEqual(byName(scan(records, groupBy, thenBy, offset)));
    return state === undefined ? Phase.clearing : Number(state['phase']);
  }

  /** Simulates a gateway that vanishes with a call; sometimes it comes back and reports it. */
  async function loseOne(): Promise<void> {
    const instants = { claimedUntilMs: Number.MAX_SAFE_INTEGER, nowMs: 0, promisedSinceMs: 0 };
    const lost = { call: validateCall(someCall()), tokens: tokens({ inputTokens: 7 }), lastSeenAtMs: harness.clock.nowMs() };
    const ended = {
      call: lost.call,
      source: UsageSource.USAGE_SOURCE_ESTIMATED,
      outcomeDetail: '',
      firstOutputMs: undefined,
      durationMs: 1,
      free: false,
      quarantined: false,
      storedAnswer: Buffer.alloc(0),
    };
    await putOpenCalls(harness.db, [lost], 0);
    const comesBack = below(2) === 0;
    const dueAtMs = comesBack ? harness.clock.nowMs() + 86_400_000 : harness.clock.nowMs();
    expect(
      await insertLostRecord(
        harness.db,
        lost,
        priceRecord({ ...ended, tokens: lost.tokens, outcome: Outcome.OUTCOME_GATEWAY_LOST }, 1),
        instants,
        dueAtMs,
      ),
    ).toBe(true);
    for (let turns = below(20); turns > 0; turns -= 1) await nextTurn();
    if (!comesBack) return;
    const own = priceRecord(
      {
        ...ended,
        tokens: tokens({ inputTokens: 9000, outputTokens: 12 }),
        outcome: Outcome.OUTCOME_COMPLETED,
        firstOutputMs: 50,
        durationMs: 77,
      },
      2,
    );
    expect(await replaceLostRecord(harness.db, own, instants, harness.quota)).toBe(true);
  }

  it('equals the records at every instant, while calls are recorded, lost, found again and archived, and all sums are rebuilt', async () => {
    ({ service } = await harness.replica());
    await harness.replica();
    const atOneInstant = await snapshots();
    const phases: Phase[] = [];
    let isWriting = true;
    const writer = async (): Promise<void> => {
      const mine: string[] = [];
      for (let round = 0; round < 40; round += 1) {
        const kind = below(10);
        if (kind < 7) mine.push(await recordSome());
        else if (kind === 7) await loseOne();
        else if (mine.length > 3)
          await removeRecords(
            harness.db,
            new SeriesNumbers(),
            mine.splice(below(2), 2).map((id) => bytesOf('req', id)),
          );
        if (round === 20 && below(2) === 0) await rebuildRollups(harness.db);
        await nextTurn();
      }
    };
    const reader = async (): Promise<void> => {
      while (isWriting) {
        phases.push(await atOneInstant(compare));
        await nextTurn();
      }
    };
    const reading = [reader(), reader()];
    await Promise.all([writer(), writer(), writer(), writer()]);
    isWriting = false;
    await Promise.all(reading);
    // Otherwise the records would have been compared with themselves.
    expect(phases.filter((phase) => phase === Phase.complete).length).toBeGreaterThan(5);
    await until(isRolledUp);
    for (let again = 0; again < 40; again += 1) expect(await atOneInstant(compare)).toBe(Phase.complete);
  }, 120_000);

  it('contains each call exactly once from the moment it was recorded, for concurrent readers', async () => {
    ({ service } = await harness.replica());
    await harness.replica();
    const callsOfKey = 30;
    // One bit per call of a key, so that a sum shows which calls are in it.
    const begun = new Map<string, number>();
    const recorded = new Map<string, number>();
    let isWriting = true;
    const writer = async (): Promise<void> => {
      for (let made = 0; made < 3; made += 1) {
        const keyId = newId('key');
        for (let index = 0; index < callsOfKey; index += 1) {
          begun.set(keyId, (begun.get(keyId) ?? 0) + 2 ** index);
          await record(
            service,
            report({ call: call({ accountId, keyId, startedAtMs: someInstant() }), tokens: tokens({ inputTokens: 2 ** index }) }),
          );
          recorded.set(keyId, (recorded.get(keyId) ?? 0) + 2 ** index);
        }
      }
    };
    const bits = (set: number): number => set.toString(2).replaceAll('0', '').length;
    const reader = async (groupBy: GroupBy): Promise<void> => {
      while (isWriting) {
        const before = new Map(recorded);
        const { groups } = await service.getUsageTotals({
          filter: UsageFilter.fromPartial({ accountId }),
          groupBy,
          thenBy: GroupBy.GROUP_BY_MODEL,
          offsetMinutes: 345,
        });
        for (const { name, calls, inputTokens } of groupBy === GroupBy.GROUP_BY_KEY ? groups : []) {
          const counted = Number(inputTokens);
          expect(bits(counted)).toBe(Number(calls));
          expect(counted & (before.get(name) ?? 0)).toBe(before.get(name) ?? 0);
          expect(counted & ~(begun.get(name) ?? 0)).toBe(0);
        }
        if (groupBy === GroupBy.GROUP_BY_KEY) for (const name of before.keys()) expect(groups.map((group) => group.name)).toContain(name);
        const known = [...before.values()].reduce((sum, set) => sum + bits(set), 0);
        const all = [...begun.values()].reduce((sum, set) => sum + bits(set), 0);
        const counted = groups.reduce((sum, { calls }) => sum + Number(calls), 0);
        expect(counted).toBeGreaterThanOrEqual(known);
        expect(counted).toBeLessThanOrEqual(all);
        await nextTurn();
      }
    };
    const reading = [reader(GroupBy.GROUP_BY_KEY), reader(GroupBy.GROUP_BY_DAY)];
    await Promise.all([writer(), writer(), writer(), writer()]);
    isWriting = false;
    await Promise.all(reading);
    expect(begun.size).toBe(12);
  }, 120_000);

  it('rebuilds all sums page by page, and counts records that arrive in the meantime once', async () => {
    ({ service } = await harness.replica({ foldIntervalMs: 600_000 }));
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 90 }, recordSome));
    await rebuildRollups(harness.db);
    const atOneInstant = await snapshots();
    expect(await atOneInstant(compare)).toBe(Phase.clearing);
    await harness.replica();
    const phases = new Set<Phase>();
    for (let round = 0; round < 1000 && !phases.has(Phase.complete); round += 1) {
      await recordSome();
      phases.add(await atOneInstant(compare));
    }
    expect(phases).toContain(Phase.backfill);
    expect(phases).toContain(Phase.complete);
    for (let again = 0; again < 20; again += 1) expect(await atOneInstant(compare)).toBe(Phase.complete);
  }, 120_000);

  it('adds the waiting calls of an account together, and none twice when they are read again', async () => {
    const other = newId('acct');
    ({ service } = await harness.replica({ foldIntervalMs: 600_000 }));
    for (let made = 0; made < 6; made += 1)
      await record(service, report({ call: call({ ...someCall(), accountId: made % 2 === 0 ? accountId : other }) }));
    const { ids, next } = await pendingAfter(harness.db, Buffer.alloc(16), 5);
    expect(next).toBeDefined();
    const accountOf = async (id: Buffer): Promise<string> =>
      ((await harness.db.knex('usage_record').where({ id }).first('account_id')) as { account_id: Buffer }).account_id.toString('hex');
    const accounts = await Promise.all(ids.map(accountOf));
    expect(accounts.filter((account, index) => account !== accounts[index - 1])).toHaveLength(2);
    const numbers = new SeriesNumbers();
    expect(await rollUpPending(harness.db, numbers, ids)).toBe(5);
    expect(await rollUpPending(harness.db, numbers, ids)).toBe(0);
    const rest = await pendingAfter(harness.db, next!, 5);
    expect(rest).toMatchObject({ next: undefined });
    expect(await rollUpPending(harness.db, numbers, [...ids, ...rest.ids])).toBe(1);
    expect(await (await snapshots())(compare)).toBe(Phase.complete);
  }, 60_000);

  it('keeps no sums and no refunds of calls that are removed', async () => {
    ({ service } = await harness.replica());
    const ids = [await recordSome(), await recordSome(), await recordSome()].map((id) => bytesOf('req', id));
    await until(isRolledUp);
    expect(await harness.db.knex('usage_sum').select('series').limit(1)).toHaveLength(1);
    const refund = {
      account_id: bytesOf('acct', accountId),
      state: RefundState.booked,
      attempts: 1,
      next_attempt_at_ms: 0,
      created_at_ms: 0,
      last_error: '',
    };
    await harness.db.knex('refund_outbox').insert({ id: ids[0], ...refund });
    await removeRecords(harness.db, new SeriesNumbers(), ids);
    await removeRecords(harness.db, new SeriesNumbers(), ids);
    expect(await harness.db.knex('usage_sum').select('series')).toEqual([]);
    expect(await harness.db.knex('refund_outbox').select('id')).toEqual([]);
  });

  it('keeps no sums of calls that are removed before they were in the sums, or while these are rebuilt', async () => {
    ({ service } = await harness.replica({ foldIntervalMs: 600_000 }));
    const made = [await recordSome(), await recordSome(), await recordSome(), await recordSome()].map((id) => bytesOf('req', id));
    const [waiting, reached, early, last] = made.toSorted(Buffer.compare);
    const numbers = new SeriesNumbers();
    await removeRecords(harness.db, numbers, [waiting!]);
    expect(await harness.db.knex('usage_sum').select('series')).toEqual([]);
    expect((await pendingAfter(harness.db, Buffer.alloc(16), 5)).ids).not.toContainEqual(waiting);
    await rollUpPending(harness.db, numbers, [reached!, early!, last!]);
    await rebuildRollups(harness.db);
    while ((await clearRollups(harness.db)).next !== undefined);
    expect(await readRollupState(harness.db)).toEqual({ phase: Phase.backfill, isWaiting: false });
    expect(await backfill(harness.db, numbers, 1)).toEqual({ added: 1, next: reached });
    // The backfill has not reached the second.
    for (const id of [reached!, early!]) await removeRecords(harness.db, numbers, [id]);
    expect(await harness.db.knex('usage_sum').select('series')).toEqual([]);
    expect(await backfill(harness.db, numbers, 10)).toMatchObject({ added: 1, next: undefined });
    expect(await (await snapshots())(compare)).toBe(Phase.complete);
  });

  it('adds nothing to sums that another process has begun to remove', async () => {
    ({ service } = await harness.replica({ foldIntervalMs: 600_000 }));
    const ids = [await recordSome(), await recordSome()].map((id) => bytesOf('req', id));
    const numbers = new SeriesNumbers();
    await rollUpPending(harness.db, numbers, [ids[0]!]);
    await rebuildRollups(harness.db);
    expect(await rollUpPending(harness.db, numbers, [ids[1]!])).toBe(0);
    expect(await backfill(harness.db, numbers, 10)).toMatchObject({ added: 0, next: undefined });
    expect(await readRollupState(harness.db)).toEqual({ phase: Phase.clearing, isWaiting: true });
  });

  it('rebuilds the sums of units', async () => {
    ({ service } = await harness.replica());
    const searched = report({
      call: call({
        accountId,
        price: price({ units: [{ unit: 'web_search', nanoUsd: 10n, maxPerCall: 9 }] }),
        unitCaps: { counts: [{ unit: 'web_search', count: 9 }] },
      }),
      tokens: tokens({ units: { counts: [{ unit: 'web_search', count: 3 }] } }),
    });
    await record(service, searched);
    await until(isRolledUp);
    const sums = () => harness.db.knex('usage_unit_sum').select('unit', 'quantity');
    const before = await sums();
    expect(before.map(({ unit, quantity }) => [unit, Number(quantity)])).toEqual([['web_search', 3]]);
    await rebuildRollups(harness.db);
    await until(isRolledUp);
    expect(await sums()).toEqual(before);
  });

  it('gets new calls even if a process that no longer runs leased the roll-up while its clock was ahead', async () => {
    ({ service } = await harness.replica({ foldIntervalMs: 600_000 }));
    const aheadMs = harness.clock.nowMs() + 365 * dayMs;
    expect(await leaseRollup(harness.db, Buffer.alloc(16, 1), aheadMs, aheadMs + 15_000)).toBe(true);
    await recordSome();
    await harness.replica();
    await until(isRolledUp);
  });
});
