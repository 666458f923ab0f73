import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { silentLog } from '#kit/testing/log.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';
import { report } from '../testing/calls.js';
import { Harness, record } from '../testing/harness.js';
import { leaseRollup, readRollupState } from '../store/sums/rollup-steps.js';
import { RollupWorker } from './rollup-worker.js';

const foldIntervalMs = 600_000;
const leaseMs = 15_000;

describe.each(testEngines)('the roll-up worker on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  let worker: RollupWorker;

  beforeEach(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica({ foldIntervalMs }));
    worker = new RollupWorker({ config: { foldIntervalMs }, db: harness.db, clock: harness.clock, log: silentLog });
    // The replica has rolled up once when it started; its lease expires.
    await worker.rollUp();
    harness.clock.advance(leaseMs);
  });

  afterEach(() => harness.close());

  const isWaiting = async () => (await readRollupState(harness.db)).isWaiting;
  const state = () => harness.db.knex('usage_summing').select('version', 'lease_until_ms').first();

  it('leaves new records to the replica that has the lease, and adds them once that has expired', async () => {
    await record(service, report());
    const nowMs = harness.clock.nowMs();
    expect(await leaseRollup(harness.db, Buffer.alloc(16, 1), nowMs, nowMs + leaseMs)).toBe(true);
    for (const passedMs of [0, 1, leaseMs - 1]) {
      harness.clock.advance(nowMs + passedMs - harness.clock.nowMs());
      await worker.rollUp();
      expect(await isWaiting()).toBe(true);
    }
    harness.clock.advance(1);
    await worker.rollUp();
    expect(await isWaiting()).toBe(false);
  });

  it('adds new records every time it runs, and renews its lease when half of it is over', async () => {
    const leasedUntilMs: number[] = [];
    const startMs = harness.clock.nowMs();
    for (const passedMs of [0, leaseMs / 2 - 1, leaseMs / 2]) {
      harness.clock.advance(startMs + passedMs - harness.clock.nowMs());
      await record(service, report());
      await worker.rollUp();
      expect(await isWaiting()).toBe(false);
      leasedUntilMs.push(Number((await state()).lease_until_ms) - startMs);
    }
    expect(leasedUntilMs).toEqual([leaseMs, leaseMs, leaseMs * 1.5]);
  });

  it('adds all records that are waiting in one run', async () => {
    await Promise.all(Array.from({ length: 250 }, () => record(service, report())));
    await worker.rollUp();
    expect(await isWaiting()).toBe(false);
  });

  it('writes nothing while no record is waiting', async () => {
    const before = await state();
    await worker.rollUp();
    expect(await state()).toEqual(before);
  });
});
