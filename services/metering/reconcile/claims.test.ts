// Replicas of metering share the runs of the reconcile job: each run belongs to the replica that claimed it, for as long as it takes.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dayMs, ManualClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { newId } from '#kit/id.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import type { Logger } from '#kit/log.js';
import { recordingLogger, silentLog } from '#kit/testing/log.js';
import { BatchGetHoldsResponse, Hold, HoldState, ListHoldsResponse, VerifyResponse } from '#proto/ledger/v1/ledger.js';
import { DriftCheck, Reconciliation } from '#proto/metering/v1/metering.js';
import { type MeteringConfig, meteringSettings } from '../config.js';
import { LeaseGrace } from '../leases/lease-grace.js';
import { migrations } from '../migrations/index.js';
import { readRuns } from '../store/reconcile-state.js';
import { until } from '../testing/harness.js';
import type { ReconcileDeps } from './examine.js';
import { ReconcileJob } from './job.js';
import { PriceBook } from './price-book.js';

const minuteMs = 60_000;
const claimMs = 10 * minuteMs;

describe.each(testEngines)('a reconcile run on %s', (engine) => {
  let database: TestDatabase;
  let clock: ManualClock;

  beforeEach(async () => {
    clock = new ManualClock();
    database = await createTestDatabase(engine);
    await migrate(database.db, migrations);
  });

  afterEach(() => database.drop());

  /** Returns the job of a replica that renews its claims this often, and whose ledger verifies all books by `verify`. */
  function replica(
    renewMs: number,
    verify: () => Promise<VerifyResponse>,
    {
      changes = {},
      ledger = {},
      log = silentLog,
    }: { changes?: Partial<MeteringConfig>; ledger?: Partial<ReconcileDeps['ledger']>; log?: Logger } = {},
  ): ReconcileJob {
    const config = { ...parseSettings(meteringSettings, {}), ...changes };
    return new ReconcileJob(
      {
        config,
        db: database.db,
        clock,
        ledger: {
          batchGetHolds: () => Promise.reject(new Error('no calls')),
          listHolds: async () => ListHoldsResponse.fromPartial({}),
          verify,
          ...ledger,
        },
        prices: new PriceBook({ listPriceVersions: async () => ({ prices: [] }) }, clock),
        grace: new LeaseGrace(clock, config),
        log,
      },
      { claimMs, renewMs },
    );
  }

  const fullRun = async () => (await readRuns(database.db)).find(({ name }) => name === 'full')!;
  const verified = (accounts: bigint) => VerifyResponse.fromPartial({ accountsChecked: accounts });

  it('is made once by replicas that find it due at the same time', async () => {
    let verifications = 0;
    const replicas = Array.from({ length: 4 }, () =>
      replica(5, async () => {
        verifications += 1;
        return verified(0n);
      }),
    );
    await Promise.all(replicas.map((each) => each.tick()));
    expect(verifications).toBe(1);
  });

  it('is not taken over while it lasts, however long that is', async () => {
    const [begun, books] = [Promise.withResolvers<void>(), Promise.withResolvers<VerifyResponse>()];
    const slow = replica(5, () => {
      begun.resolve();
      return books.promise;
    });
    const running = slow.tick();
    await begun.promise;
    let takenOver = 0;
    const other = replica(5, async () => {
      takenOver += 1;
      return verified(0n);
    });
    for (let minutes = 0; minutes < 30; minutes += 5) {
      clock.advance(5 * minuteMs);
      await until(async () => (await fullRun()).dueAtMs === clock.nowMs() + claimMs);
      await other.tick();
    }
    expect(takenOver).toBe(0);
    books.resolve(verified(7n));
    await running;
    expect(Reconciliation.decode((await fullRun()).result)).toMatchObject({ accountsChecked: 7n });
  });

  it('of recent calls is on time while a full one is in progress', async () => {
    const [begun, books] = [Promise.withResolvers<void>(), Promise.withResolvers<VerifyResponse>()];
    const verify = (): Promise<VerifyResponse> => {
      begun.resolve();
      return books.promise;
    };
    const job = replica(5, verify, { changes: { reconcileIntervalMs: 20 } });
    job.start();
    await begun.promise;
    clock.advance(minuteMs);
    const recentRun = async () => (await readRuns(database.db)).find(({ name }) => name === 'recent')!;
    await until(async () => Reconciliation.decode((await recentRun()).result).finishedAtMs >= BigInt(clock.nowMs()));
    expect((await fullRun()).result).toHaveLength(0);
    books.resolve(verified(7n));
    await job.stop();
  });

  it('of all calls continues at once until all pages are read', async () => {
    const intervalMs = 200;
    const pageTimes: number[] = [];
    const ledger: Partial<ReconcileDeps['ledger']> = {
      async listHolds({ fromMs }) {
        if (fromMs > 0n) return ListHoldsResponse.fromPartial({});
        pageTimes.push(performance.now());
        return ListHoldsResponse.fromPartial({ nextPageToken: pageTimes.length < 30 ? 'next' : '' });
      },
    };
    const job = replica(5, async () => verified(7n), { changes: { reconcileIntervalMs: intervalMs, reconcileSliceMs: 0 }, ledger });
    job.start();
    await until(async () => (await fullRun())?.result.length > 0);
    await job.stop();
    expect(pageTimes).toHaveLength(30);
    expect(pageTimes.at(-1)! - pageTimes[0]!).toBeLessThan(15 * intervalMs);
  });

  it('does not log that the books agree again while runs of the other kind know of a drift', async () => {
    const { log, lines } = recordingLogger();
    const job = replica(5, async () => verified(7n), { log });
    await job.tick();
    const known = { check: DriftCheck.DRIFT_CHECK_CHARGE, subject: 'charge', callId: newId('req'), accountId: newId('acct') };
    const store = (name: 'recent' | 'full', drifts: object[]) => {
      const result = Reconciliation.fromPartial({ startedAtMs: BigInt(clock.nowMs()), finishedAtMs: BigInt(clock.nowMs()), drifts });
      return database.db
        .knex('reconcile_state')
        .where({ name })
        .update({ result: Buffer.from(Reconciliation.encode(result).finish()) });
    };
    const agreements = () => lines.filter(({ msg }) => msg === 'the books agree again').length;
    await store('recent', [known]);
    clock.advance(dayMs);
    await job.tick(['full']);
    expect(agreements()).toBe(0);
    await store('recent', []);
    await store('full', [known]);
    clock.advance(dayMs);
    await job.tick(['full']);
    expect(agreements()).toBe(1);
  });

  it('that another replica took over does not change when its first replica comes back', async () => {
    const [begun, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const stalled = replica(60 * minuteMs, async () => {
      begun.resolve();
      await lost.promise;
      throw new Error('the ledger was lost');
    });
    const running = stalled.tick();
    await begun.promise;
    clock.advance(claimMs + 1);
    await replica(60 * minuteMs, async () => verified(7n)).tick();
    const stored = await fullRun();
    expect(Reconciliation.decode(stored.result)).toMatchObject({ accountsChecked: 7n });
    lost.resolve();
    await expect(running).rejects.toThrow('the ledger was lost');
    expect(await fullRun()).toEqual(stored);
  });

  it('that failed is made again after the interval', async () => {
    await expect(replica(5, () => Promise.reject(new Error('the ledger was lost'))).tick()).rejects.toThrow('the ledger was lost');
    const next = replica(5, async () => verified(7n));
    await next.tick();
    expect((await fullRun()).result).toHaveLength(0);
    clock.advance(minuteMs);
    await next.tick();
    expect(Reconciliation.decode((await fullRun()).result)).toMatchObject({ accountsChecked: 7n });
  });

  it('of all calls is continued by any replica where another one stopped, with what was found so far', async () => {
    // A part is one page.
    const changes = { reconcileSliceMs: 0, reconcilePatienceMs: 0 };
    const accountId = newId('acct');
    const state = HoldState.HOLD_STATE_SETTLED;
    const holds = [newId('req'), newId('req')].map((id) =>
      Hold.fromPartial({ id, accountId, state, capturedNanoUsd: 5n, createdAtMs: BigInt(clock.nowMs()) }),
    );
    const pages: Record<string, [hold: Hold, nextPageToken: string]> = { '': [holds[0]!, 'second'], second: [holds[1]!, ''] };
    const startedAtMs = clock.nowMs();
    const requests: [pageToken: string, untilMs: bigint][] = [];
    const ledger: Partial<ReconcileDeps['ledger']> = {
      batchGetHolds: async ({ items }) =>
        BatchGetHoldsResponse.fromPartial({ holds: holds.filter(({ id }) => items.some(({ holdId }) => holdId === id)) }),
      async listHolds({ pageToken, fromMs, untilMs }) {
        // Only recent runs have a beginning.
        if (fromMs > 0n) return ListHoldsResponse.fromPartial({});
        requests.push([pageToken, untilMs]);
        const [hold, nextPageToken] = pages[pageToken]!;
        return ListHoldsResponse.fromPartial({ holds: [hold], nextPageToken });
      },
    };
    let verifications = 0;
    const verify = async (): Promise<VerifyResponse> => {
      verifications += 1;
      return verified(7n);
    };
    for (let parts = 0; parts < 3; parts += 1) {
      await replica(5, verify, { changes, ledger }).tick();
      expect([(await fullRun()).result.length, verifications]).toEqual([0, 0]);
      clock.advance(1000);
    }
    await replica(5, verify, { changes, ledger }).tick();
    // Calls that begin meanwhile, or have just begun, are left to the recent runs.
    const untilMs = BigInt(startedAtMs - 10_000);
    expect(requests).toEqual([
      ['', untilMs],
      ['second', untilMs],
    ]);
    const { holdsChecked, accountsChecked, drifts } = Reconciliation.decode((await fullRun()).result);
    expect([holdsChecked, accountsChecked, drifts.map(({ callId }) => callId)]).toEqual([2n, 7n, holds.map(({ id }) => id)]);
    expect(await fullRun()).toMatchObject({ pageToken: '', dueAtMs: startedAtMs + dayMs });
  });

  it('that was scheduled by a clock that was ahead begins when the clock is right again', async () => {
    clock.step(365 * dayMs);
    await replica(5, async () => verified(1n)).tick();
    clock.step(-365 * dayMs);
    await replica(5, async () => verified(2n)).tick();
    const { result, dueAtMs } = await fullRun();
    expect(Reconciliation.decode(result)).toMatchObject({ accountsChecked: 2n });
    expect(dueAtMs).toBe(clock.nowMs() + dayMs);
  });
});
