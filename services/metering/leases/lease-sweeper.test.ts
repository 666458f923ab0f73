import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import type { Database } from '#kit/db/open.js';
import { testEngines } from '#kit/testing/database.js';
import { recordingLogger, silentLog } from '#kit/testing/log.js';
import { type Call, CheckpointUsageRequest_Item, type MeteringService, Outcome, UsageSource } from '#proto/metering/v1/metering.js';
import { unitPriceNanoUsdMax } from '#rules/money/pricing.js';
import { meteringSettings } from '../config.js';
import { LeaseGrace } from './lease-grace.js';
import { LeaseSweeper } from './lease-sweeper.js';
import { type EndedCall, priceRecord } from '../records/usage-record.js';
import { insertLostRecord } from '../store/records/close-calls.js';
import { findUnseenCalls, type OpenCall } from '../store/records/open-calls.js';
import { call, price, report, startedAtMs, tokens } from '../testing/calls.js';
import { aWhile, checkpoint, find, Harness, outboxOf, record, until } from '../testing/harness.js';

const leaseMs = 30_000;

/** Returns a function that waits until a sweep that began after its call has ended. Call it before the sweeper starts. */
function sweepsOf(db: { query: Database['query'] }): () => Promise<void> {
  let sweeps = 0;
  const { query } = db;
  db.query = (sql, bindings) => {
    // Only sweeps read this column alone.
    if (sql.startsWith('SELECT id FROM outbox')) sweeps += 1;
    return query(sql, bindings);
  };
  return () => {
    const before = sweeps;
    // The first of these has ended when the second begins.
    return until(() => sweeps >= before + 2);
  };
}

describe.each(testEngines)('calls in flight on %s', (engine) => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.create(engine);
  });

  afterEach(() => harness.close());

  it('have their holds renewed at their cost so far', async () => {
    const { service } = await harness.replica();
    const [one, two] = [call(), call()];
    expect(
      await checkpoint(
        service,
        { call: one, tokens: tokens({ inputTokens: 10 }) },
        { call: two, tokens: tokens({ inputTokens: 10, outputTokens: 5 }) },
      ),
    ).toEqual([true, true]);
    expect(harness.ledger.checkpoints).toEqual([
      {
        items: [
          { holdId: one.id, accountId: one.accountId, costSoFarNanoUsd: 10_000n, ttlMs: 120_000 },
          { holdId: two.id, accountId: two.accountId, costSoFarNanoUsd: 20_000n, ttlMs: 120_000 },
        ],
      },
    ]);
    expect((await outboxOf(service)).openCalls).toBe(2n);
  });

  it('that are not checkpointed for the lease are recorded as lost, charged at the last checkpoint and settled', async () => {
    const { service } = await harness.replica();
    const lost = call();
    harness.clock.advance(leaseMs);
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100, outputTokens: 1 }) });
    harness.clock.advance(1000);
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100, outputTokens: 30 }) });
    const lastSeenAtMs = harness.clock.nowMs();
    harness.clock.advance(leaseMs);
    await aWhile();
    expect(await find(service, lost.id)).toBeUndefined();

    harness.clock.advance(1);
    await until(async () => (await find(service, lost.id))?.settlement !== undefined);
    expect(await find(service, lost.id)).toMatchObject({
      call: lost,
      tokens: { inputTokens: 100, outputTokens: 30 },
      outcome: Outcome.OUTCOME_GATEWAY_LOST,
      outcomeDetail: 'lease_expired',
      source: UsageSource.USAGE_SOURCE_ESTIMATED,
      chargeNanoUsd: 160_000n,
      durationMs: lastSeenAtMs - Number(startedAtMs),
    });
    expect(harness.ledger.settled.get(lost.id)?.costNanoUsd).toBe(160_000n);
    expect((await outboxOf(service)).openCalls).toBe(0n);
  });

  it('that are lost are charged the request only if something had been delivered', async () => {
    const { service } = await harness.replica();
    const requests = price({ units: [{ unit: 'request', nanoUsd: 7_000_000n, maxPerCall: 1 }] });
    const [silent, delivering] = [call({ price: requests }), call({ price: requests })];
    harness.clock.advance(leaseMs);
    const delivered = tokens({ inputTokens: 1, units: { counts: [{ unit: 'request', count: 1 }] } });
    await checkpoint(service, { call: silent, tokens: tokens() }, { call: delivering, tokens: delivered });
    expect(harness.ledger.checkpoints.at(-1)!.items.map(({ costSoFarNanoUsd }) => costSoFarNanoUsd)).toEqual([0n, 7_001_000n]);
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await outboxOf(service)).openCalls === 0n);
    expect((await find(service, silent.id))?.chargeNanoUsd).toBe(0n);
    expect((await find(service, delivering.id))?.chargeNanoUsd).toBe(7_001_000n);
  });

  it('that are lost keep the attempts known at the last checkpoint', async () => {
    const { service } = await harness.replica();
    const failed = {
      upstreamId: 'first',
      upstreamModel: 'x',
      offsetMs: 2,
      durationMs: 30,
      answered: false,
      reason: 'upstream_failed',
      httpStatus: 500,
      upstreamRequestId: 'req_1',
    };
    const tried = {
      ...failed,
      upstreamId: 'second',
      offsetMs: 32,
      durationMs: undefined,
      reason: '',
      httpStatus: 0,
      upstreamRequestId: '',
    };
    const lost = call({ attempts: [failed, tried] });
    harness.clock.advance(leaseMs);
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100 }) });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, lost.id)) !== undefined);
    expect((await find(service, lost.id))?.call?.attempts).toEqual([failed, tried]);
  });

  it('are free when lost before a non-streamed response, because none of it was delivered', async () => {
    const { service } = await harness.replica();
    const lost = call({ streaming: false });
    harness.clock.advance(leaseMs);
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100, outputTokens: 30 }) });
    expect(harness.ledger.checkpoints[0]?.items[0]).toMatchObject({ holdId: lost.id, costSoFarNanoUsd: 0n });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, lost.id))?.settlement !== undefined);
    expect(await find(service, lost.id)).toMatchObject({
      outcome: Outcome.OUTCOME_GATEWAY_LOST,
      tokens: { outputTokens: 30 },
      chargeNanoUsd: 0n,
      lineItems: [],
    });
    expect(harness.ledger.settled.get(lost.id)?.costNanoUsd).toBe(0n);
  });

  it('that were considered lost are closed to their gateway', async () => {
    const { service } = await harness.replica();
    const lost = call();
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 1 }) });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, lost.id))?.settlement !== undefined);
    expect(await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 2 }) })).toEqual([false]);
    await expect(record(service, report({ call: lost }))).rejects.toMatchObject({ reason: 'call_closed' });
    expect((await outboxOf(service)).openCalls).toBe(0n);
  });

  it('that were considered lost are recorded and charged once, as their gateway reports after all', async () => {
    const { service } = await harness.replica({ lostGraceMs: 60_000 });
    const other = await harness.replica({ lostGraceMs: 60_000 });
    const whole = call({ streaming: false });
    const streamed = call();
    await checkpoint(
      service,
      { call: whole, tokens: tokens({ inputTokens: 100 }) },
      { call: streamed, tokens: tokens({ inputTokens: 100 }) },
    );
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, whole.id)) !== undefined && (await find(service, streamed.id)) !== undefined);
    expect(await find(service, whole.id)).toMatchObject({
      outcome: Outcome.OUTCOME_GATEWAY_LOST,
      chargeNanoUsd: 0n,
      settlement: undefined,
    });
    harness.clock.advance(59_000);
    await aWhile();
    expect(harness.ledger.deliveries).toBe(0);
    const reports = [whole, streamed].map((each) => report({ call: each }));
    for (const each of reports) {
      // As with two gateways that have the same spool, and one that did not receive the response.
      const answers = await Promise.all([service, other.service, service].map((replica) => record(replica, each)));
      expect(answers.map((answer) => answer.chargeNanoUsd)).toEqual([200_000n, 200_000n, 200_000n]);
    }
    await until(async () => (await outboxOf(service)).pending === 0n && harness.ledger.settled.size === 2);
    harness.clock.advance(120_000);
    await aWhile();
    for (const each of [whole, streamed]) {
      expect(await find(service, each.id)).toMatchObject({
        outcome: Outcome.OUTCOME_COMPLETED,
        chargeNanoUsd: 200_000n,
        settlement: { capturedNanoUsd: 200_000n, shortfallNanoUsd: 0n },
      });
      expect(harness.ledger.settled.get(each.id)?.costNanoUsd).toBe(200_000n);
    }
    expect(harness.ledger.deliveries).toBe(2);
  });

  it('that were considered lost stay lost once they are settled, and other accounts cannot change them', async () => {
    const { service } = await harness.replica({ lostGraceMs: 60_000 });
    const lost = call();
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100 }) });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, lost.id)) !== undefined);
    await expect(record(service, report({ call: { ...lost, accountId: call().accountId } }))).rejects.toMatchObject({
      reason: 'idempotency_mismatch',
    });
    harness.clock.advance(60_001);
    await until(async () => (await find(service, lost.id))?.settlement !== undefined);
    await expect(record(service, report({ call: lost }))).rejects.toMatchObject({ reason: 'call_closed' });
    expect(await find(service, lost.id)).toMatchObject({ outcome: Outcome.OUTCOME_GATEWAY_LOST, chargeNanoUsd: 100_000n });
  });

  it('that were considered lost stay lost once their charge may have been booked, even if the ledger’s response was lost', async () => {
    const { service } = await harness.replica({ lostGraceMs: 60_000 });
    const lost = call();
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100 }) });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, lost.id)) !== undefined);
    harness.ledger.losesAnswers = true;
    harness.clock.advance(60_001);
    await until(() => harness.ledger.deliveries > 0);
    await expect(record(service, report({ call: lost }))).rejects.toMatchObject({ reason: 'call_closed' });
    harness.ledger.losesAnswers = false;
    await until(async () => {
      harness.clock.advance(1000);
      return (await find(service, lost.id))?.settlement !== undefined;
    });
    expect(await find(service, lost.id)).toMatchObject({
      outcome: Outcome.OUTCOME_GATEWAY_LOST,
      chargeNanoUsd: 100_000n,
      settlement: { capturedNanoUsd: 100_000n, shortfallNanoUsd: 0n },
    });
    expect(harness.ledger.settled.get(lost.id)?.costNanoUsd).toBe(100_000n);
  });

  it('are given one lease to be seen again after a database outage', async () => {
    const { service } = await harness.replica();
    const running = call();
    await checkpoint(service, { call: running, tokens: tokens({ inputTokens: 1 }) });
    await harness.db.knex.schema.renameTable('open_call', 'away');
    harness.clock.advance(10 * leaseMs);
    await until(() => harness.lines.some((line) => line.msg === 'calls in flight could not be read'));
    await harness.db.knex.schema.renameTable('away', 'open_call');
    await aWhile();
    expect(await find(service, running.id)).toBeUndefined();
    expect(await checkpoint(service, { call: running, tokens: tokens({ inputTokens: 2 }) })).toEqual([true]);
    expect(harness.lines).toHaveLength(1);
  });

  it('are given one lease to be seen again after the wall clock was set, forwards or back', async () => {
    const swept = sweepsOf(harness.db);
    const { service } = await harness.replica();
    const lost = call();
    harness.clock.advance(leaseMs);
    for (const stepMs of [leaseMs * 10, -leaseMs * 10]) {
      await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100 }) });
      harness.clock.step(stepMs);
      await swept();
      expect(await find(service, lost.id)).toBeUndefined();
      harness.clock.advance(leaseMs - 1);
      await aWhile();
      expect(await find(service, lost.id)).toBeUndefined();
    }
    // It is not checkpointed again.
    harness.clock.step(leaseMs * 10);
    await swept();
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, lost.id)) !== undefined);
  });

  it('are given one lease to be seen again after metering itself was unavailable', async () => {
    const before = await harness.replica();
    const running = call();
    await checkpoint(before.service, { call: running, tokens: tokens({ inputTokens: 1 }) });
    await before.stop();
    harness.clock.advance(10 * leaseMs);
    const { service } = await harness.replica();
    await aWhile();
    expect(await find(service, running.id)).toBeUndefined();
    expect(await checkpoint(service, { call: running, tokens: tokens({ inputTokens: 2 }) })).toEqual([true]);
  });

  describe('that were considered lost are not settled before gateways had the whole grace period to report them,', () => {
    const lostGraceMs = 60_000;
    const lose = async (service: MeteringService): Promise<Call> => {
      const lost = call();
      await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100 }) });
      harness.clock.advance(leaseMs + 1);
      await until(async () => (await find(service, lost.id)) !== undefined);
      return lost;
    };
    /** Expects that the call is settled a whole grace period from now and not earlier, and that until then its own report is used. */
    const expectWholeGrace = async (service: MeteringService, lost: Call, reported: Call): Promise<void> => {
      harness.clock.advance(lostGraceMs - 1);
      await aWhile();
      expect(harness.ledger.deliveries).toBe(0);
      expect((await record(service, report({ call: reported }))).chargeNanoUsd).toBe(200_000n);
      harness.clock.advance(1);
      await until(async () => (await find(service, lost.id))?.settlement !== undefined);
      await expect(record(service, report({ call: lost }))).rejects.toMatchObject({ reason: 'call_closed' });
    };

    it('even if metering was stopped when it ended', async () => {
      const before = await harness.replica({ lostGraceMs });
      const [lost, reported] = [await lose(before.service), await lose(before.service)];
      await before.stop();
      harness.clock.advance(10 * lostGraceMs);
      const { service } = await harness.replica({ lostGraceMs });
      await expectWholeGrace(service, lost, reported);
    });

    it('even if the database was unavailable when it ended', async () => {
      const swept = sweepsOf(harness.db);
      const { service } = await harness.replica({ lostGraceMs });
      const [lost, reported] = [await lose(service), await lose(service)];
      await harness.db.knex.schema.renameTable('outbox', 'away');
      harness.clock.advance(10 * lostGraceMs);
      await swept();
      await harness.db.knex.schema.renameTable('away', 'outbox');
      await until(async () => (await outboxOf(service)).openCalls === 0n);
      await expectWholeGrace(service, lost, reported);
    });

    it.each(['a report', 'a readiness check'])('even if the database could not write when it ended, as %s shows', async (shownBy) => {
      const { service, ready } = await harness.replica({ lostGraceMs });
      const [lost, reported] = [await lose(service), await lose(service)];
      harness.writeFault = Object.assign(new Error('Disk full.'), { errno: 1021 });
      // The first call is due a millisecond later, so that only what follows shows the outage, and not the settling itself.
      harness.clock.advance(lostGraceMs - leaseMs - 2);
      if (shownBy === 'a report') await expect(record(service, report())).rejects.toBe(harness.writeFault);
      else expect(await ready()).toMatchObject({ ok: false });
      harness.writeFault = undefined;
      await expectWholeGrace(service, lost, reported);
    });

    it('even if metering or its database was paused when it ended; no call is then considered lost either', async () => {
      const { service, stop } = await harness.replica({ lostGraceMs });
      await lose(service);
      await checkpoint(service, { call: call(), tokens: tokens() });
      await stop();
      const { clock } = harness;
      const config = { ...parseSettings(meteringSettings, {}), leaseMs, lostGraceMs, sweepIntervalMs: 5 };
      const db = { ...harness.db };
      const swept = sweepsOf(db);
      const sweeper = new LeaseSweeper({ config, db, clock, log: silentLog, grace: new LeaseGrace(clock, config, clock) });
      const pass = async (ms: number, stepMs = 10_000): Promise<void> => {
        for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
          clock.advance(Math.min(leftMs, stepMs));
          await swept();
        }
      };
      const openCalls = async (): Promise<number> => (await harness.db.knex('open_call').select('id')).length;
      const states = async (): Promise<number[]> =>
        (await harness.db.knex('outbox').select('state').orderBy('state')).map(({ state }) => Number(state));
      sweeper.start();
      try {
        await pass(leaseMs - 1);
        await pass(10 * lostGraceMs, 10 * lostGraceMs);
        await pass(leaseMs - 1);
        expect(await openCalls()).toBe(1);
        await pass(lostGraceMs - leaseMs);
        expect(await openCalls()).toBe(0);
        expect(await states()).toEqual([2, 2]);
        await pass(1);
        expect(await states()).toEqual([0, 2]);
      } finally {
        await sweeper.stop();
      }
    });

    it('even if the wall clock was set', async () => {
      const swept = sweepsOf(harness.db);
      const { service } = await harness.replica({ lostGraceMs });
      const [lost, reported] = [await lose(service), await lose(service)];
      harness.clock.step(10 * lostGraceMs);
      await swept();
      await expectWholeGrace(service, lost, reported);
    });
  });

  describe('that one sweep has read', () => {
    const { log, lines } = recordingLogger();
    const config = { ...parseSettings(meteringSettings, {}), leaseMs, sweepIntervalMs: 5 };
    const pauseClock = new ManualClock();
    let onClose: (attempt: number) => void;
    let attempts: number;
    let sweeps: number;
    let sweeper: LeaseSweeper;

    /** Starts a sweeper with two calls to close. It calls `onClose` before each transaction that closes one. */
    beforeEach(async () => {
      [attempts, sweeps, lines.length] = [0, 0, 0];
      const { service, stop } = await harness.replica();
      await checkpoint(service, { call: call(), tokens: tokens() }, { call: call(), tokens: tokens() });
      await stop();
      const db: Database = {
        ...harness.db,
        query(sql, bindings) {
          if (sql.includes('FROM outbox')) sweeps += 1;
          return harness.db.query(sql, bindings);
        },
        async plainTransaction(work, options) {
          onClose((attempts += 1));
          return harness.db.plainTransaction(work, options);
        },
      };
      const { clock } = harness;
      sweeper = new LeaseSweeper({ config, db, clock, log, grace: new LeaseGrace(clock, config, pauseClock) });
      sweeper.start();
    });

    afterEach(() => sweeper.stop());

    /** Ends the leases of all calls that may end, and waits until the sweep is over. */
    const sweep = async (): Promise<void> => {
      harness.clock.advance(leaseMs + 1);
      const before = sweeps;
      await until(() => sweeps >= before + 3);
    };
    const openCalls = async (): Promise<number> => (await harness.db.knex('open_call').select('id')).length;
    const messages = (): unknown[] => lines.map(({ msg }) => msg);
    const lost = 'a gateway lost a call; it is charged at its last checkpoint unless its own report arrives';

    it('are given one lease to be seen again after metering was paused during the sweep', async () => {
      onClose = (attempt) => attempt === 1 && pauseClock.advance(leaseMs);
      await sweep();
      expect([await openCalls(), messages()]).toEqual([1, [lost]]);
      await sweep();
      expect([await openCalls(), messages()]).toEqual([0, [lost, lost]]);
    });

    it('are given one lease to be seen again after the database was lost during the sweep', async () => {
      onClose = (attempt) => {
        if (attempt === 1) throw Object.assign(new Error('driver'), { code: 'PROTOCOL_CONNECTION_LOST' });
      };
      await sweep();
      expect([await openCalls(), attempts, messages()]).toEqual([2, 1, ['calls in flight could not be read']]);
      await sweep();
      expect([await openCalls(), attempts]).toEqual([0, 3]);
    });

    it('cause no error when their own record is stored at the same moment', async () => {
      onClose = (attempt) => {
        if (attempt === 1) throw Object.assign(new Error('driver'), { errno: 1062 });
      };
      await sweep();
      expect([await openCalls(), messages()]).toEqual([0, [lost, lost]]);
    });
  });

  it.each([
    ['no time, if its gateway’s clock is ahead', 60_000, 0],
    ['the longest time that a record can show', -50 * 86_400_000, 4_294_967_295],
  ])('that are lost have taken %s', async (_, startsInMs, durationMs) => {
    const { service } = await harness.replica();
    const lost = call({ startedAtMs: BigInt(harness.clock.nowMs() + startsInMs) });
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100 }) });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, lost.id)) !== undefined);
    expect(await find(service, lost.id)).toMatchObject({ outcome: Outcome.OUTCOME_GATEWAY_LOST, durationMs });
  });

  it('leave charges that the ledger has refused to operators when they are settled', async () => {
    const { service } = await harness.replica();
    harness.clock.advance(leaseMs);
    const refused = report();
    harness.ledger.refused.add(refused.call!.id);
    await record(service, refused);
    await until(async () => (await outboxOf(service)).failed === 1n);
    const { deliveries } = harness.ledger;
    const lost = call();
    await checkpoint(service, { call: lost, tokens: tokens({ inputTokens: 100 }) });
    harness.clock.advance(leaseMs + 1);
    await until(() => harness.ledger.settled.has(lost.id));
    expect(harness.ledger.deliveries).toBe(deliveries + 1);
    expect(await outboxOf(service)).toMatchObject({ failed: 1n });
  });

  it('continue if they are seen again after a sweep has read them', async () => {
    const { service } = await harness.replica();
    harness.clock.advance(leaseMs);
    const running = call();
    await checkpoint(service, { call: running, tokens: tokens({ inputTokens: 100 }) });
    const [lost] = (await findUnseenCalls(harness.db, harness.clock.nowMs() + 1, 10)) as [OpenCall];
    harness.clock.advance(1);
    await checkpoint(service, { call: running, tokens: tokens({ inputTokens: 200 }) });
    const ended: EndedCall = {
      ...lost,
      source: UsageSource.USAGE_SOURCE_ESTIMATED,
      outcome: Outcome.OUTCOME_GATEWAY_LOST,
      outcomeDetail: '',
      firstOutputMs: undefined,
      durationMs: 1,
      free: false,
      quarantined: false,
      storedAnswer: Buffer.alloc(0),
    };
    const instants = { claimedUntilMs: 0, nowMs: 0, promisedSinceMs: 0 };
    expect(await insertLostRecord(harness.db, lost, priceRecord(ended, 1), instants, 0)).toBe(false);
    expect(await find(service, running.id)).toBeUndefined();
    expect(await checkpoint(service, { call: running, tokens: tokens({ inputTokens: 300 }) })).toEqual([true]);
  });

  it('are closed once, even if several replicas sweep', async () => {
    const replicas = [await harness.replica(), await harness.replica(), await harness.replica()];
    const lost = Array.from({ length: 30 }, () => call());
    const { service } = replicas[0]!;
    await checkpoint(service, ...lost.map((each) => ({ call: each, tokens: tokens({ inputTokens: 100 }) })));
    harness.clock.advance(leaseMs + 1);
    await until(
      async () =>
        harness.ledger.settled.size === 30 && (await outboxOf(service)).openCalls === 0n && (await outboxOf(service)).pending === 0n,
    );
    expect(harness.ledger.deliveries).toBe(30);
    expect(harness.lines.filter((line) => line.msg.includes('lost a call'))).toHaveLength(30);
  });

  it('that end at the moment they are considered lost have one record and one charge', async () => {
    const { service } = await harness.replica();
    const calls = Array.from({ length: 40 }, () => call());
    await checkpoint(service, ...calls.map((each) => ({ call: each, tokens: tokens({ inputTokens: 100 }) })));
    harness.clock.advance(leaseMs + 1);
    const outcomes = await Promise.all(
      calls.map(async (each, index) => {
        await new Promise((resolve) => setTimeout(resolve, index % 10));
        return record(service, report({ call: each })).then(
          () => 'recorded',
          () => 'refused',
        );
      }),
    );
    await until(async () => (await outboxOf(service)).pending === 0n && (await outboxOf(service)).openCalls === 0n);
    for (const [index, each] of calls.entries()) {
      const stored = await find(service, each.id);
      expect(stored?.outcome).toBe(outcomes[index] === 'recorded' ? Outcome.OUTCOME_COMPLETED : Outcome.OUTCOME_GATEWAY_LOST);
      expect(harness.ledger.settled.get(each.id)?.costNanoUsd).toBe(stored?.chargeNanoUsd);
    }
  });

  it('are closed to checkpoints that arrive after their record', async () => {
    const { service } = await harness.replica();
    const ended = report();
    const running = call();
    await record(service, ended);
    expect(await checkpoint(service, { call: running, tokens: tokens() }, { call: ended.call, tokens: ended.tokens })).toEqual([
      true,
      false,
    ]);
    expect((await outboxOf(service)).openCalls).toBe(1n);
    expect(harness.ledger.checkpoints[0]?.items.map((item) => item.holdId)).toEqual([running.id]);
  });

  it('leave nothing behind when a checkpoint overtook the record', async () => {
    const { service } = await harness.replica();
    const ended = report();
    await checkpoint(service, { call: ended.call, tokens: ended.tokens });
    const left = await harness.db.knex('open_call').first();
    await record(service, ended);
    await harness.db.knex('open_call').insert(left);
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await outboxOf(service)).openCalls === 0n);
    expect(await find(service, ended.call!.id)).toMatchObject({ outcome: Outcome.OUTCOME_COMPLETED, chargeNanoUsd: 200_000n });
  });

  it('are closed even if a call lost earlier cannot be recorded', async () => {
    const { service } = await harness.replica();
    const [unrecordable, lost] = [call(), call()];
    await checkpoint(service, { call: unrecordable, tokens: tokens() });
    const draft = CheckpointUsageRequest_Item.encode({ call: { ...unrecordable, keyId: '' }, tokens: tokens() }).finish();
    await harness.db.knex('open_call').update({ draft: Buffer.from(draft) });
    harness.clock.advance(1);
    await checkpoint(service, { call: lost, tokens: tokens() });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, lost.id)) !== undefined);
    expect(harness.lines.find((line) => line.call_id === unrecordable.id)?.level).toBe('error');
  });

  it('must end when their hold has', async () => {
    const { service } = await harness.replica();
    const [held, unheld] = [call(), call()];
    harness.ledger.closedHolds.add(unheld.id);
    expect(await checkpoint(service, { call: held, tokens: tokens() }, { call: unheld, tokens: tokens() })).toEqual([true, false]);
  });

  it('continue and keep their checkpoints while the ledger is unavailable', async () => {
    const { service } = await harness.replica();
    harness.ledger.isUnavailable = true;
    const running = call();
    for (let second = 1; second <= 3; second += 1) {
      expect(await checkpoint(service, { call: running, tokens: tokens({ inputTokens: 100, outputTokens: second }) })).toEqual([true]);
    }
    expect(harness.lines.filter((line) => line.msg.includes('the ledger is unavailable'))).toHaveLength(1);
    harness.ledger.isUnavailable = false;
    harness.clock.advance(leaseMs + 1);
    await until(() => harness.ledger.settled.has(running.id));
    expect(harness.ledger.settled.get(running.id)?.costNanoUsd).toBe(106_000n);
  });

  it('must end when they could never be recorded, while other calls continue', async () => {
    const { service } = await harness.replica();
    const [before, after] = [call(), call()];
    const unpriceable = call({ price: price({ inputNanoUsdPerMtok: unitPriceNanoUsdMax + 1n }) });
    const items = [before, unpriceable, call({ id: 'x' }), after].map((each) => ({ call: each, tokens: tokens() }));
    expect(await checkpoint(service, ...items, { call: undefined, tokens: undefined })).toEqual([true, false, false, true, false]);
    expect(harness.ledger.checkpoints[0]?.items.map((item) => item.holdId)).toEqual([before.id, after.id]);
    expect((await outboxOf(service)).openCalls).toBe(2n);
    expect(harness.lines.filter((line) => line.msg.includes('can never be recorded')).map((line) => line.call_id)).toEqual([
      unpriceable.id,
      'x',
      undefined,
    ]);
  });

  it('are rejected as a whole batch when one is named twice', async () => {
    const { service } = await harness.replica();
    const good = { call: call(), tokens: tokens() };
    await expect(checkpoint(service, good, good)).rejects.toMatchObject({ details: { field: 'items' } });
    expect((await outboxOf(service)).openCalls).toBe(0n);
  });
});
