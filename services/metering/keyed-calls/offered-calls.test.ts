import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { type Call, type JoinCallResponse, type MeteringService, Outcome, type RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { testEngines } from '#kit/testing/database.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { call, price, report, tokens } from '../testing/calls.js';
import { checkpoint, find, Harness, record, until } from '../testing/harness.js';
import { deleteExpiredKeys } from '../store/keyed-calls/expired-keys.js';

const leaseMs = 30_000;
const keptMs = 60_000;
const answer = Buffer.from('the answer');
const none = Buffer.alloc(0);
const used = tokens({ inputTokens: 100, outputTokens: 50 });

describe.each(testEngines)('calls that are offered to retries on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  let stop: () => Promise<void>;
  let keyHash: Buffer;
  let first: Call;

  beforeEach(async () => {
    harness = await Harness.create(engine);
    ({ service, stop } = await harness.replica({ leaseMs }));
    // Past the grace period after a start, in which no call is considered lost.
    harness.clock.advance(leaseMs);
    keyHash = randomBytes(32);
    first = call({ idempotencyKeyHash: keyHash });
  });

  afterEach(() => harness.close());

  const offer = (of: Call, stored = none) =>
    service.offerCall({ accountId: of.accountId, keyHash: of.idempotencyKeyHash, callId: of.id, keptMs, answer: stored });
  const join = async (of = first): Promise<JoinCallResponse['result']> =>
    (await service.joinCall({ accountId: of.accountId, keyHash: of.idempotencyKeyHash })).result;
  const ended = (of: Call, changes: Partial<RecordUsageRequest> = {}): RecordUsageRequest =>
    report({ call: of, tokens: used, storedAnswer: answer, ...changes });
  const other = (): Call => call({ accountId: first.accountId, idempotencyKeyHash: keyHash });

  it('are found while they run, and then with their answer for as long as it is kept', async () => {
    expect(await join()).toBeUndefined();
    expect(await offer(first)).toEqual({ offered: true, awaited: false });
    expect(await join()).toEqual({ $case: 'inProgress', value: { callId: first.id } });
    await record(service, ended(first));
    expect(await join()).toMatchObject({ $case: 'completed', value: { answer, record: { call: { id: first.id } } } });
    harness.clock.advance(keptMs);
    expect(await join()).toBeUndefined();
  });

  it('learn for a few seconds that a retry waits for them', async () => {
    await offer(first);
    await join();
    expect(await offer(first)).toEqual({ offered: true, awaited: true });
    harness.clock.advance(3000);
    expect(await offer(first)).toEqual({ offered: true, awaited: false });
  });

  it('are found with an answer that is offered after their record', async () => {
    await record(service, ended({ ...first, idempotencyKeyHash: none }, { storedAnswer: none }));
    await offer(first, answer);
    expect(await join()).toMatchObject({ $case: 'completed', value: { answer } });
    harness.clock.advance(keptMs);
    expect(await join()).toBeUndefined();
  });

  it('replace a call that has ended, but not one that runs', async () => {
    await offer(first);
    const second = other();
    expect(await offer(second)).toEqual({ offered: false, awaited: false });
    await record(service, ended(first));
    expect(await offer(second)).toEqual({ offered: true, awaited: false });
    expect(await join()).toEqual({ $case: 'inProgress', value: { callId: second.id } });
    // A gateway repeats a report if the response to it was lost.
    expect(await record(service, ended(first))).toMatchObject({ call: { id: first.id } });
    expect(await join()).toEqual({ $case: 'inProgress', value: { callId: second.id } });
  });

  it('are forgotten when their answer was delivered, with nothing left of it', async () => {
    await offer(first);
    await record(service, ended(first));
    await service.releaseIdempotencyKey({ accountId: first.accountId, keyHash, callId: other().id, ended: true });
    expect((await join())?.$case).toBe('completed');
    await service.releaseIdempotencyKey({ accountId: first.accountId, keyHash, callId: first.id, ended: true });
    expect(await join()).toBeUndefined();
    expect(await harness.db.knex('stored_answer').select('key_hash')).toEqual([]);
    const [total] = await harness.db.knex('kept_total').select('answers', 'bytes');
    expect([Number(total.answers), Number(total.bytes)]).toEqual([0, 0]);
  });

  it('are recorded when their answer was delivered before their report arrived, and nothing is kept', async () => {
    await offer(first);
    await service.releaseIdempotencyKey({ accountId: first.accountId, keyHash, callId: first.id, ended: true });
    expect((await join())?.$case).toBe('inProgress');
    expect(await record(service, ended(first))).toMatchObject({ call: { id: first.id } });
    expect(await join()).toBeUndefined();
    expect(await harness.db.knex('stored_answer').select('key_hash')).toEqual([]);
    const [total] = await harness.db.knex('kept_total').select('answers', 'bytes');
    expect(total === undefined ? 0 : Number(total.answers)).toBe(0);
  });

  it('are recorded when their report waits in a spool for longer than answers are kept', async () => {
    await offer(first);
    harness.clock.advance(10 * keptMs);
    await deleteExpiredKeys(harness.db, harness.clock.nowMs(), 24 * 3_600_000, 100);
    expect(await record(service, ended(first))).toMatchObject({ call: { id: first.id } });
  });

  describe('that were considered lost are charged by their own report', () => {
    const lostGraceMs = 10 * keptMs;
    beforeEach(async () => {
      await stop();
      ({ service } = await harness.replica({ leaseMs, lostGraceMs }));
      harness.clock.advance(leaseMs);
    });

    const offerUntil = async (reached: Partial<TokenCounts>): Promise<void> => {
      await offer(first);
      await checkpoint(service, { call: first, tokens: tokens(reached) });
    };

    const lose = async (): Promise<void> => {
      harness.clock.advance(leaseMs + 1);
      await until(async () => (await find(service, first.id)) !== undefined);
    };
    const deliver = () => service.releaseIdempotencyKey({ accountId: first.accountId, keyHash, callId: first.id, ended: true });

    const callOf = (joined: JoinCallResponse['result']) =>
      joined?.$case === 'completed' ? joined.value.record?.call?.id : joined?.value.callId;
    const replace = async (): Promise<void> => {
      const second = other();
      await offer(second);
      await record(service, ended(second));
    };

    it.each<[string, (() => Promise<unknown>)[]]>([
      ['if their answer was delivered before', [deliver, lose]],
      ['if their answer was delivered since', [lose, deliver]],
      ['even after answers are kept no longer', [lose, async () => harness.clock.advance(2 * keptMs)]],
      ['if another call of the same request has been offered and charged since', [lose, replace]],
    ])('%s', async (_, steps) => {
      await offerUntil({ inputTokens: 100, outputTokens: 1 });
      for (const step of steps) await step();
      await deleteExpiredKeys(harness.db, harness.clock.nowMs(), 24 * 3_600_000, 100);
      const joined = callOf(await join());
      expect(joined).not.toBe(first.id);
      expect((await record(service, ended(first))).chargeNanoUsd).toBe(200_000n);
      expect(callOf(await join())).toBe(joined);
    });

    it.each<[string, Partial<TokenCounts>]>([
      ['only input had been charged', { inputTokens: 50 }],
      ['their output had cost nothing', { outputTokens: 1 }],
    ])('if their key has another call and %s', async (_, reached) => {
      first = { ...first, price: price({ outputNanoUsdPerMtok: 0n }) };
      await offerUntil(reached);
      await lose();
      await replace();
      expect((await record(service, ended(first))).chargeNanoUsd).toBe(100_000n);
    });
  });

  it('are in progress while only their answer is known, and their report waits in a spool', async () => {
    await offer(first, answer);
    expect(await join()).toEqual({ $case: 'inProgress', value: { callId: first.id } });
    await record(service, ended({ ...first, idempotencyKeyHash: none }, { storedAnswer: none }));
    expect((await join())?.$case).toBe('completed');
  });

  it('are not found when they failed free of charge, or when their gateway was lost', async () => {
    await offer(first);
    await record(service, ended(first, { outcome: Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT, free: true, storedAnswer: none }));
    expect(await join()).toBeUndefined();
    await offer(other());
    harness.clock.advance(leaseMs);
    expect(await join()).toBeUndefined();
  });

  it('are found for as long as their gateway checkpoints them', async () => {
    await offer(first);
    for (let lease = 0; lease < 3; lease += 1) {
      harness.clock.advance(leaseMs - 1000);
      await checkpoint(service, { call: first, tokens: used });
    }
    expect((await join())?.$case).toBe('inProgress');
  });

  describe('are found in flight before they are offered', () => {
    const inFlight = (of: Call, retryKeyHash: Buffer | undefined = keyHash) =>
      checkpoint(service, { call: { ...of, idempotencyKeyHash: none }, tokens: used, retryKeyHash });
    const notOffered = (of: Call, checkpointAgeMs: number) => ({ $case: 'notOffered', value: { callId: of.id, checkpointAgeMs } });

    it('with the time since their last checkpoint, until they are offered', async () => {
      await inFlight(first);
      harness.clock.advance(700);
      expect(await join()).toEqual(notOffered(first, 700));
      await inFlight(first);
      expect(await join()).toEqual(notOffered(first, 0));
      await offer(first);
      expect(await join()).toEqual({ $case: 'inProgress', value: { callId: first.id } });
    });

    it('until they are recorded', async () => {
      await inFlight(first);
      await record(service, ended({ ...first, idempotencyKeyHash: none }, { storedAnswer: none }));
      expect(await join()).toBeUndefined();
    });

    it('until their client has received a part of the answer', async () => {
      await inFlight(first);
      await checkpoint(service, { call: { ...first, idempotencyKeyHash: none }, tokens: used });
      expect(await join()).toBeUndefined();
    });

    it('beside the answer of an earlier call that is no longer kept', async () => {
      await record(service, ended({ ...first, idempotencyKeyHash: none }, { storedAnswer: none }));
      await offer(first, answer);
      const second = other();
      await inFlight(second);
      expect((await join())?.$case).toBe('completed');
      harness.clock.advance(keptMs);
      await inFlight(second);
      expect(await join()).toEqual(notOffered(second, 0));
    });

    it('beside an earlier call whose answer was too large to be kept', async () => {
      await offer(first);
      await record(service, ended(first, { storedAnswer: none }));
      const second = other();
      await inFlight(second);
      expect(await join()).toEqual(notOffered(second, 0));
    });

    it('with the oldest checkpoint first if there are several', async () => {
      const second = other();
      await inFlight(second);
      harness.clock.advance(10);
      await inFlight(first);
      expect(await join()).toEqual(notOffered(second, 10));
    });

    it('by the hash of their own request, in their own account', async () => {
      await inFlight(first, randomBytes(32));
      await inFlight(call());
      expect(await join()).toBeUndefined();
    });

    it('unless the hash is malformed: then they must end', async () => {
      const item = { call: { ...first, idempotencyKeyHash: none }, tokens: used, retryKeyHash: randomBytes(31) };
      expect(await service.checkpointUsage({ items: [item] })).toEqual({ open: [false] });
    });
  });

  it('belong to one account', async () => {
    await offer(first);
    expect(await join(call({ idempotencyKeyHash: keyHash }))).toBeUndefined();
  });
});
