import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { testEngines, untilWaiting } from '#kit/testing/database.js';
import { SettleResponse } from '#proto/ledger/v1/ledger.js';
import { ListUnsettledChargesRequest, type RecordUsageRequest, UnsettledState } from '#proto/metering/v1/metering.js';
import { bytesOf } from '../store/records/record-rows.js';
import { claimDue, deferred, pending, storeOutcomes } from '../store/settlement/outbox.js';
import { call, report } from '../testing/calls.js';
import { aWhile, find, Harness, outboxOf, record, until } from '../testing/harness.js';

describe.each(testEngines)('settlements on %s', (engine) => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.create(engine);
  });

  afterEach(() => harness.close());

  /** Advances time until every settlement has been retried and answered. */
  async function settle(service: Parameters<typeof outboxOf>[0]): Promise<void> {
    await until(async () => {
      harness.clock.advance(1000);
      return (await outboxOf(service)).pending === 0n;
    });
  }

  it('wait while the ledger is unavailable and are delivered once each when it is back', async () => {
    const { service } = await harness.replica();
    harness.ledger.isUnavailable = true;
    const startMs = harness.clock.nowMs();
    const requests = Array.from({ length: 20 }, () => report());
    await Promise.all(requests.map((request) => record(service, request)));
    await aWhile();
    expect(await outboxOf(service)).toMatchObject({ pending: 20n, oldestPendingAtMs: BigInt(startMs), failed: 0n });
    expect((await find(service, requests[0]!.call!.id))?.settlement).toBeUndefined();

    harness.ledger.isUnavailable = false;
    await settle(service);
    expect([...harness.ledger.settled.keys()].sort()).toEqual(requests.map((request) => request.call!.id).sort());
    expect(harness.lines.filter((line) => line.msg.includes('the ledger is unavailable'))).toHaveLength(1);
    expect((await outboxOf(service)).oldestPendingAtMs).toBe(0n);
  });

  it('whose responses were lost are retried and take effect once', async () => {
    const { service } = await harness.replica();
    harness.ledger.losesAnswers = true;
    const request = report();
    await record(service, request);
    await until(() => harness.ledger.deliveries === 1);
    harness.ledger.losesAnswers = false;
    await settle(service);
    expect(harness.ledger.deliveries).toBeGreaterThan(1);
    expect(harness.ledger.settled.size).toBe(1);
    expect((await find(service, request.call!.id))?.settlement?.capturedNanoUsd).toBe(200_000n);
  });

  it('are retried less and less often while they fail, up to the longest pause', async () => {
    const { service } = await harness.replica({ settleBackoffMaxMs: 4000 });
    harness.ledger.losesAnswers = true;
    await record(service, report());
    await until(() => harness.ledger.deliveries === 1);
    // Each pause is at most 4 s, so a step of 4 s brings the next attempt, and a step of 99 ms never does: the shortest pause is 100 ms.
    for (let attempt = 2; attempt < 10; attempt += 1) {
      await until(async () => (await attemptsOf(harness)) === attempt - 1);
      harness.clock.advance(99);
      await aWhile();
      expect(harness.ledger.deliveries).toBe(attempt - 1);
      harness.clock.advance(4000);
      await until(() => harness.ledger.deliveries === attempt);
    }
  });

  it('beyond the limit are delivered as soon as the ledger has responded to earlier ones, however few they were', async () => {
    const { service } = await harness.replica({ settleConcurrency: 4 });
    const answers = harness.ledger.delaySettlements();
    for (const inFlight of [2, 4]) {
      await Promise.all([record(service, report()), record(service, report())]);
      await until(() => answers.length === inFlight);
    }
    await record(service, report());
    await aWhile();
    expect(answers).toHaveLength(4);
    for (const answer of answers) answer();
    await until(() => answers.length === 5);
    answers[4]!();
    await until(async () => (await outboxOf(service)).pending === 0n);
  });

  it('left by a crashed process are delivered by the next one at once', async () => {
    harness.ledger.isUnavailable = true;
    const crashed = await harness.replica();
    const requests = Array.from({ length: 5 }, () => report());
    for (const request of requests) await record(crashed.service, request);
    await until(async () => (await attemptsOf(harness)) >= 1);
    await crashed.stop();
    expect(harness.ledger.settled.size).toBe(0);

    harness.ledger.isUnavailable = false;
    const { service } = await harness.replica();
    await until(async () => (await outboxOf(service)).pending === 0n);
    expect(harness.ledger.settled.size).toBe(5);
  });

  it('that a replica has claimed and never delivered go to another when the claim expires', async () => {
    const { service } = await harness.replica({ outboxClaimMs: 10_000 });
    const request = report();
    await record(service, request);
    await until(async () => (await outboxOf(service)).pending === 0n);
    // The state left by a replica that dies between its commit and the delivery.
    await harness.db.knex('outbox').insert({
      ...(await rowOf(harness, request.call!.id)),
      state: 0,
      attempts: 0,
      next_attempt_at_ms: harness.clock.nowMs() + 10_000,
      created_at_ms: harness.clock.nowMs(),
      last_error: '',
    });
    await aWhile();
    expect(harness.ledger.deliveries).toBe(1);
    harness.clock.advance(10_000);
    await until(async () => (await outboxOf(service)).pending === 0n);
    expect(harness.ledger.deliveries).toBe(2);
    expect(harness.ledger.settled.size).toBe(1);
  });

  it('in progress are not delivered a second time by the same process when their claim expires', async () => {
    const { service } = await harness.replica({ outboxClaimMs: 10_000 });
    const answers = harness.ledger.delaySettlements();
    await record(service, report());
    await until(() => answers.length === 1);
    harness.clock.advance(20_000);
    await aWhile();
    expect(answers).toHaveLength(1);
    answers[0]!();
    await until(async () => (await outboxOf(service)).pending === 0n);
    expect(harness.ledger.deliveries).toBe(1);
  });

  it('of lost calls are not due earlier because a process starts', async () => {
    const crashed = await harness.replica();
    harness.ledger.isUnavailable = true;
    const request = report();
    await record(crashed.service, request);
    await crashed.stop();
    harness.ledger.isUnavailable = false;
    const later = harness.clock.nowMs() + 10_000;
    await harness.db.knex('outbox').update({ state: deferred, next_attempt_at_ms: later });
    const { service } = await harness.replica();
    await aWhile();
    expect(harness.ledger.deliveries).toBe(0);
    harness.clock.advance(10_000);
    await until(async () => (await outboxOf(service)).pending === 0n && harness.ledger.deliveries === 1);
  });

  it('are claimed in the order in which they are due', async () => {
    const { service, stop } = await harness.replica();
    harness.ledger.isUnavailable = true;
    const requests = [report(), report(), report()];
    await Promise.all(requests.map((request) => record(service, request)));
    await stop();
    const [last, first, second] = requests.map((request) => request.call!.id) as [string, string, string];
    const nowMs = harness.clock.nowMs() + 3_600_000;
    for (const [place, id] of [first, second, last].entries())
      await harness.db
        .knex('outbox')
        .where({ id: bytesOf('req', id) })
        .update({ next_attempt_at_ms: nowMs - 3 + place });
    const claimed = await claimDue(harness.db, nowMs, nowMs + 15_000, 2);
    expect(claimed.map(({ callId }) => callId)).toEqual([first, second]);
  });

  it('that the ledger has refused stay as they are when a late delivery of another process fails', async () => {
    const { service, stop } = await harness.replica();
    const request = report();
    harness.ledger.refused.add(request.call!.id);
    await record(service, request);
    await until(async () => (await outboxOf(service)).failed === 1n);
    await stop();
    const before = await harness.db.knex('outbox').first();
    const { id: callId, accountId, keyId } = request.call!;
    const item = { callId, accountId, keyId, chargeNanoUsd: 200_000n, recordedAtMs: 0n, attempts: 5 };
    const nowMs = harness.clock.nowMs();
    await storeOutcomes(harness.db, [{ kind: 'postponed', item, nextAttemptAtMs: nowMs + 9000, error: 'No answer.' }], nowMs);
    await storeOutcomes(harness.db, [{ kind: 'failed', item, error: 'Refused again.' }], nowMs);
    expect(await harness.db.knex('outbox').first()).toEqual(before);
  });

  it('are shared between replicas without a second effect', async () => {
    const [one, two] = [await harness.replica(), await harness.replica()];
    const requests = Array.from({ length: 40 }, () => report());
    await Promise.all(requests.map((request, index) => record((index % 2 === 0 ? one : two).service, request)));
    await until(async () => (await outboxOf(one.service)).pending === 0n);
    expect(harness.ledger.settled.size).toBe(40);
    expect(harness.ledger.deliveries).toBe(40);
  });

  it('are claimed by one of two replicas that read them at the same moment', async () => {
    const { service, stop } = await harness.replica();
    harness.ledger.isUnavailable = true;
    await Promise.all([record(service, report()), record(service, report())]);
    await stop();
    const nowMs = harness.clock.nowMs() + 3_600_000;
    const claim = () => claimDue(harness.db, nowMs, nowMs + 15_000, 10);
    const [one, two] = await Promise.all([claim(), claim()]);
    expect(one.length + two.length).toBe(2);
  });

  it('that the ledger refuses permanently are kept, logged, and delay no others', async () => {
    const { service } = await harness.replica({ settleConcurrency: 1 });
    const refused = report();
    const good = report();
    harness.ledger.refused.add(refused.call!.id);
    await record(service, refused);
    await record(service, good);
    await until(async () => (await find(service, good.call!.id))?.settlement !== undefined);
    expect(await outboxOf(service)).toMatchObject({ pending: 0n, failed: 1n });
    expect(harness.lines.filter((line) => line.call_id === refused.call!.id && line.level === 'error')).toHaveLength(1);
    harness.clock.advance(3_600_000);
    await aWhile();
    expect(harness.ledger.deliveries).toBe(2);
  });

  it.each(['invalid_request', 'idempotency_mismatch', 'hold_closed', 'not_found', 'failed_precondition'] as const)(
    'that the ledger refuses as %s are kept and not retried',
    async (reason) => {
      const { service } = await harness.replica();
      harness.ledger.client.settle = () => Promise.reject(new AppError(reason, `Refused. ${'x'.repeat(1000)}`));
      await record(service, report());
      await until(async () => (await outboxOf(service)).failed === 1n);
      expect((await outboxOf(service)).pending).toBe(0n);
      const { charges } = await service.listUnsettledCharges(ListUnsettledChargesRequest.fromPartial({}));
      expect(charges.map(({ error }) => error)).toEqual([`Refused. ${'x'.repeat(191)}`]);
    },
  );

  it('that the ledger refuses are listed by account and page by page, and retried one by one', async () => {
    const { service } = await harness.replica();
    const accountId = newId('acct');
    const requests = [report({ call: call({ accountId }) }), report({ call: call({ accountId }) }), report()];
    for (const request of requests) {
      harness.ledger.refused.add(request.call!.id);
      await record(service, request);
    }
    await until(async () => (await outboxOf(service)).failed === 3n);
    const idsOf = (of: readonly RecordUsageRequest[]) => of.map((request) => request.call!.id).toSorted();
    const list = (fields: Partial<ListUnsettledChargesRequest>) =>
      service.listUnsettledCharges(ListUnsettledChargesRequest.fromPartial(fields));
    expect((await list({ accountId })).charges.map(({ callId }) => callId)).toEqual(idsOf(requests.slice(0, 2)));
    const paged: string[] = [];
    let pageToken = '';
    do {
      const page = await list({ pageSize: 1, pageToken });
      paged.push(...page.charges.map(({ callId }) => callId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '' && paged.length < 10);
    expect(paged).toEqual(idsOf(requests));

    harness.ledger.isUnavailable = true;
    const waiting = report();
    await record(service, waiting);
    const idsIn = async (state?: UnsettledState) => (await list(state === undefined ? {} : { state })).charges.map(({ callId }) => callId);
    expect(await idsIn()).toEqual(idsOf([...requests, waiting]));
    expect(await idsIn(UnsettledState.UNSETTLED_STATE_PENDING)).toEqual(idsOf([waiting]));
    expect(await idsIn(UnsettledState.UNSETTLED_STATE_REJECTED)).toEqual(idsOf(requests));
    harness.ledger.isUnavailable = false;
    await settle(service);

    harness.ledger.refused.clear();
    const [first] = requests as [RecordUsageRequest];
    expect(await service.retrySettlement({ callId: first.call!.id })).toEqual({ retried: 1n });
    await until(async () => (await outboxOf(service)).failed === 2n && (await outboxOf(service)).pending === 0n);
    expect([...harness.ledger.settled.keys()]).toEqual([waiting.call!.id, first.call!.id]);
  });

  it('that still wait cannot be closed; closing and retrying refused ones is audited, and a retry of none is not', async () => {
    const { service } = await harness.replica();
    harness.ledger.isUnavailable = true;
    const request = report();
    const { id: callId, accountId } = request.call!;
    await record(service, request);
    await expect(service.closeSettlement({ callId, reason: 'lost' })).rejects.toMatchObject({
      reason: 'failed_precondition',
      message: expect.stringContaining('still waits'),
    });
    expect(await outboxOf(service)).toMatchObject({ pending: 1n, failed: 0n });

    expect(await service.retrySettlement({ callId })).toEqual({ retried: 0n });
    expect(await service.retrySettlement({ callId: '' })).toEqual({ retried: 0n });
    harness.ledger.refused.add(callId);
    harness.ledger.isUnavailable = false;
    await settle(service);
    expect(await service.retrySettlement({ callId: '' })).toEqual({ retried: 1n });
    await settle(service);
    await service.closeSettlement({ callId, reason: 'lost' });
    await until(() => harness.audit.events.length === 2);
    expect(harness.audit.events).toEqual([
      expect.objectContaining({ action: 'settlement.retry', targetId: '', detailJson: '{"retried":1}' }),
      expect.objectContaining({
        action: 'settlement.close',
        accountId,
        targetId: callId,
        detailJson: '{"reason":"lost","charge_usd":"0.0002"}',
      }),
    ]);
    await expect(service.retrySettlement({ callId })).rejects.toMatchObject({ reason: 'not_found' });
  });

  // A SQLite file has one writer.
  if (engine === 'mysql')
    it('that are being retried cannot be closed at the same moment', async () => {
      const { service } = await harness.replica();
      const request = report();
      const { id: callId } = request.call!;
      harness.ledger.refused.add(callId);
      await record(service, request);
      await until(async () => (await outboxOf(service)).failed === 1n);
      const retry = await harness.db.knex.transaction();
      await retry('outbox').update({ state: pending });
      const closed = service.closeSettlement({ callId, reason: 'lost' }).catch((error: unknown) => error);
      await untilWaiting(harness.db, 'outbox', 1);
      await retry.commit();
      expect(await closed).toMatchObject({ reason: 'failed_precondition' });
    });

  it('report what the account could not pay', async () => {
    const { service } = await harness.replica();
    harness.ledger.capturedMaxNanoUsd = 150_000n;
    const request = report();
    await record(service, request);
    await until(async () => (await find(service, request.call!.id))?.settlement !== undefined);
    expect((await find(service, request.call!.id))?.settlement).toMatchObject({ capturedNanoUsd: 150_000n, shortfallNanoUsd: 50_000n });
  });

  it.each([
    [150_000n, 0n],
    [200_000n, 50_000n],
  ])('report what the ledger took, even if it is not the charge: %s, and %s missing', async (capturedNanoUsd, shortfallNanoUsd) => {
    const { service } = await harness.replica();
    const request = report();
    harness.ledger.client.settle = async ({ holdId }) =>
      SettleResponse.fromPartial({ hold: { id: holdId, capturedNanoUsd, shortfallNanoUsd } });
    await record(service, request);
    await until(async () => (await find(service, request.call!.id))?.settlement !== undefined);
    expect((await find(service, request.call!.id))?.settlement).toMatchObject({ capturedNanoUsd, shortfallNanoUsd });
  });

  it('in progress when the worker stops are finished as soon as the ledger answers', async () => {
    const { service, stop } = await harness.replica({ drainTimeoutMs: 60_000 });
    const answers = harness.ledger.delaySettlements();
    await Promise.all([record(service, report()), record(service, report())]);
    await until(() => answers.length === 2);
    const stopped = stop();
    await aWhile();
    for (const answer of answers) answer();
    await stopped;
    expect((await outboxOf(service)).pending).toBe(0n);
  });

  it('that the ledger answers after the stop are left to another process, and so are those behind them', async () => {
    const { service, stop } = await harness.replica({ drainTimeoutMs: 20, settleConcurrency: 1 });
    const answers = harness.ledger.delaySettlements();
    await Promise.all([record(service, report()), record(service, report())]);
    await until(() => answers.length === 1);
    await stop();
    answers[0]!();
    // A request that began before the stop.
    await record(service, report());
    await aWhile();
    expect(answers).toHaveLength(1);
    expect((await outboxOf(service)).pending).toBe(3n);
  });

  it('in progress are finished before the worker stops, or left for later when that takes too long', async () => {
    const metering = await harness.replica({ drainTimeoutMs: 20_000 });
    const requests = Array.from({ length: 50 }, () => report());
    await Promise.all(requests.map((request) => record(metering.service, request)));
    await metering.stop();
    expect(harness.ledger.settled.size).toBe(50);
    expect((await outboxOf(metering.service)).pending).toBe(0n);

    const stuck = await harness.replica({ drainTimeoutMs: 20 });
    const original = harness.ledger.client.settle;
    harness.ledger.client.settle = () => new Promise(() => {});
    await record(stuck.service, report());
    await stuck.stop();
    expect((await outboxOf(stuck.service)).pending).toBe(1n);
    harness.ledger.client.settle = original;
  });
});

/** Returns the failed attempts of the one settlement that waits, or of the first of several. */
async function attemptsOf(harness: Harness): Promise<number> {
  const row = await harness.db.knex('outbox').select('attempts').first();
  return Number(row?.attempts ?? 0);
}

async function rowOf(harness: Harness, callId: string): Promise<Record<string, unknown>> {
  return harness.db
    .knex('usage_record')
    .select('id', 'account_id', 'key_id', 'charge_nano_usd')
    .where({ id: Buffer.from(callId.slice(4), 'hex') })
    .first();
}
