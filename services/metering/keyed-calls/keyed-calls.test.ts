import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { idToBytes, newId } from '#kit/id.js';
import { testEngines, untilWaiting } from '#kit/testing/database.js';
import {
  ReserveIdempotencyKeyRequest,
  ReserveIdempotencyKeyResponse_Cause as Cause,
  type Call,
  Outcome,
  type MeteringService,
  type RecordUsageRequest,
} from '#proto/metering/v1/metering.js';
import { call, price, report, tokens } from '../testing/calls.js';
import { deleteExpiredKeys } from '../store/keyed-calls/expired-keys.js';
import { aWhile, checkpoint, find, Harness, record, until } from '../testing/harness.js';

const leaseMs = 30_000;
const answer = Buffer.from('the answer');
const used = tokens({ inputTokens: 100, outputTokens: 50 });

describe.each(testEngines)('calls under idempotency keys on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;

  beforeEach(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica({ leaseMs }));
    // Past the grace period after a start, in which no call is considered lost.
    harness.clock.advance(leaseMs);
  });

  afterEach(() => harness.close());

  const keyedCall = (changes: Partial<Call> = {}): Call => call({ idempotencyKeyHash: randomBytes(32), ...changes });
  const repeatOf = (first: Call): Call => call({ accountId: first.accountId, idempotencyKeyHash: first.idempotencyKeyHash });
  const request = (of: Call, changes: Partial<ReserveIdempotencyKeyRequest> = {}): ReserveIdempotencyKeyRequest =>
    ReserveIdempotencyKeyRequest.fromPartial({
      accountId: of.accountId,
      keyHash: of.idempotencyKeyHash,
      fingerprint: Buffer.alloc(32, 1),
      callId: of.id,
      ...changes,
    });
  const begin = async (of: Call, changes: Partial<ReserveIdempotencyKeyRequest> = {}, replica = service) =>
    (await replica.reserveIdempotencyKey(request(of, changes))).result!;
  const ended = (of: Call, changes: Partial<RecordUsageRequest> = {}): RecordUsageRequest =>
    report({ call: of, tokens: used, storedAnswer: answer, ...changes });
  const countOf = async (table: string): Promise<number> => Number((await harness.db.knex(table).count({ rows: '*' }))[0]!['rows']);
  const totals = async (): Promise<number[]> =>
    (await harness.db.knex('kept_total').select('answers', 'bytes')).flatMap((row) => [Number(row.answers), Number(row.bytes)]);

  it('start once: repeats get `inProgress` while the first runs, then its response with its record', async () => {
    const first = keyedCall();
    expect((await begin(first)).$case).toBe('reserved');
    expect((await begin(first)).$case).toBe('reserved');
    expect(await begin(repeatOf(first))).toEqual({ $case: 'inProgress', value: { callId: first.id } });
    const stored = await record(service, ended(first));
    const outcome = await begin(repeatOf(first));
    expect(outcome).toMatchObject({
      $case: 'completed',
      value: { answer, record: { call: { id: first.id }, chargeNanoUsd: stored.chargeNanoUsd, tokens: used } },
    });
  });

  it('start once out of 50 concurrent requests over two replicas', async () => {
    const second = await harness.replica({ leaseMs });
    const first = keyedCall();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => begin(repeatOf(first), {}, index % 2 === 0 ? service : second.service)),
    );
    const cases = outcomes.map(({ $case }) => $case);
    expect(cases.filter(($case) => $case === 'reserved')).toHaveLength(1);
    expect(cases.filter(($case) => $case === 'inProgress')).toHaveLength(49);
  });

  it('are distinguished by fingerprint, and keys by account', async () => {
    const first = keyedCall();
    await begin(first);
    expect(await begin(repeatOf(first), { fingerprint: Buffer.alloc(32, 2) })).toEqual({
      $case: 'mismatch',
      value: { callId: first.id },
    });
    await record(service, ended(first));
    expect(await begin(repeatOf(first), { fingerprint: Buffer.alloc(32, 2) })).toEqual({
      $case: 'mismatch',
      value: { callId: first.id },
    });
    expect((await begin(call({ idempotencyKeyHash: first.idempotencyKeyHash }))).$case).toBe('reserved');
  });

  it('get the response of their own key in their own account', async () => {
    const first = keyedCall();
    const others = [keyedCall({ accountId: first.accountId }), keyedCall({ idempotencyKeyHash: first.idempotencyKeyHash })];
    const calls = [first, ...others];
    for (const each of calls) {
      await begin(each);
      await record(service, ended(each, { storedAnswer: Buffer.from(each.id) }));
    }
    for (const each of calls)
      expect(await begin(repeatOf(each))).toMatchObject({
        $case: 'completed',
        value: { answer: Buffer.from(each.id), record: { call: { id: each.id } } },
      });
  });

  it('free their keys when they are released, but no other call’s', async () => {
    const first = keyedCall();
    await begin(first);
    const second = repeatOf(first);
    await service.releaseIdempotencyKey({
      accountId: second.accountId,
      keyHash: second.idempotencyKeyHash,
      callId: second.id,
      ended: false,
    });
    expect((await begin(second)).$case).toBe('inProgress');
    await service.releaseIdempotencyKey({ accountId: first.accountId, keyHash: first.idempotencyKeyHash, callId: first.id, ended: false });
    expect((await begin(second)).$case).toBe('reserved');
    await record(service, ended(second));
    await service.releaseIdempotencyKey({
      accountId: second.accountId,
      keyHash: second.idempotencyKeyHash,
      callId: second.id,
      ended: false,
    });
    expect((await begin(repeatOf(first))).$case).toBe('completed');
  });

  it('free their keys when they end free of charge, and a repeated report changes nothing', async () => {
    const first = keyedCall();
    await begin(first);
    const failed = ended(first, { outcome: Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT, free: true, storedAnswer: Buffer.alloc(0) });
    await record(service, failed);
    expect((await service.recordUsage(failed)).replayed).toBe(true);
    const second = repeatOf(first);
    expect((await begin(second)).$case).toBe('reserved');
    expect((await service.recordUsage(failed)).replayed).toBe(true);
    await record(service, ended(second));
    expect((await begin(repeatOf(first))).$case).toBe('completed');
  });

  it('report when their responses are too large to be stored', async () => {
    const first = keyedCall();
    await begin(first);
    await record(service, ended(first, { storedAnswer: Buffer.alloc(0) }));
    expect(await begin(repeatOf(first))).toEqual({ $case: 'answerUnavailable', value: { callId: first.id, cause: Cause.CAUSE_TOO_LARGE } });
    const second = keyedCall();
    await begin(second);
    await record(service, ended(second, { storedAnswer: Buffer.alloc(8 * 1024 * 1024) }));
    expect(await begin(repeatOf(second))).toMatchObject({ $case: 'answerUnavailable' });
  });

  it('store responses of several megabytes, byte for byte', async () => {
    const first = keyedCall();
    await begin(first);
    const large = randomBytes(6 * 1024 * 1024);
    await record(service, ended(first, { storedAnswer: large }));
    const outcome = await begin(repeatOf(first));
    expect(outcome.$case === 'completed' && outcome.value.answer.equals(large)).toBe(true);
  });

  it('lose their keys to a repeat when their gateway vanished before a checkpoint, and can never be charged afterwards', async () => {
    const first = keyedCall();
    await begin(first);
    harness.clock.advance(leaseMs - 1);
    const second = repeatOf(first);
    expect((await begin(second)).$case).toBe('inProgress');
    harness.clock.advance(1);
    expect((await begin(second)).$case).toBe('reserved');
    await expect(record(service, ended(first))).rejects.toMatchObject({ reason: 'call_closed' });
    expect(await checkpoint(service, { call: first, tokens: used }, { call: second, tokens: used })).toEqual([false, true]);
    expect(await countOf('open_call')).toBe(1);
    await record(service, ended(second));
    harness.clock.advance(2 * leaseMs);
    await aWhile();
    expect(await find(service, first.id)).toBeUndefined();
    expect([...harness.ledger.settled.keys()]).toEqual([second.id]);
    expect(await begin(repeatOf(first))).toMatchObject({ $case: 'completed', value: { record: { call: { id: second.id } } } });
  });

  it('are not recorded as lost if they were checkpointed, but another call has their keys by then', async () => {
    const first = keyedCall();
    await begin(first);
    await checkpoint(service, { call: first, tokens: used });
    await service.releaseIdempotencyKey({ accountId: first.accountId, keyHash: first.idempotencyKeyHash, callId: first.id, ended: false });
    const second = repeatOf(first);
    await begin(second);
    await record(service, ended(second));
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await countOf('open_call')) === 0);
    expect(await find(service, first.id)).toBeUndefined();
    expect([...harness.ledger.settled.keys()]).toEqual([second.id]);
    expect(await begin(repeatOf(first))).toMatchObject({ $case: 'completed', value: { record: { call: { id: second.id } } } });
  });

  // A SQLite file has one writer.
  if (engine === 'mysql')
    describe('while another process has the lock of their key', () => {
      let first: Call;
      let locker: Knex.Transaction;

      beforeEach(async () => {
        first = keyedCall();
        await begin(first);
        harness.clock.advance(leaseMs);
        locker = await harness.db.knex.transaction();
        await keyIn(locker).forUpdate();
      });

      const keyIn = (knex: Knex) => knex('idempotency_key').where({ key_hash: first.idempotencyKeyHash });

      it('get it once, when two processes could take it from a lost call at the same moment', async () => {
        const { service: other } = await harness.replica({ leaseMs });
        harness.clock.advance(leaseMs);
        const taken = Promise.all([service, other].map((replica) => begin(repeatOf(first), {}, replica)));
        await untilWaiting(harness.db, 'idempotency_key', 2);
        await locker.rollback();
        expect((await taken).map(({ $case }) => $case).toSorted()).toEqual(['inProgress', 'reserved']);
      });

      it('cannot be recorded if that process takes it for a repeat', async () => {
        const recorded = record(service, ended(first)).catch((error: unknown) => error);
        await untilWaiting(harness.db, 'idempotency_key', 1);
        await keyIn(locker).update({ call_id: idToBytes('req', newId('req')) });
        await locker.commit();
        expect(await recorded).toMatchObject({ reason: 'call_closed' });
        expect(await find(service, first.id)).toBeUndefined();
      });
    });

  it('are recorded, however late their reports arrive, once their keys have expired', async () => {
    const first = keyedCall();
    await begin(first);
    harness.clock.advance(86_400_000 + 1);
    const second = repeatOf(first);
    expect((await begin(second)).$case).toBe('reserved');
    expect((await record(service, ended(first))).chargeNanoUsd).toBe(200_000n);
    expect((await begin(repeatOf(first))).$case).toBe('inProgress');
    await record(service, ended(call({ ...second, startedAtMs: BigInt(harness.clock.nowMs()) })));
    expect(await begin(repeatOf(first))).toMatchObject({ $case: 'completed', value: { record: { call: { id: second.id } } } });
  });

  it('do not fail because another call in their batch lost its key', async () => {
    const first = keyedCall();
    await begin(first);
    harness.clock.advance(leaseMs);
    await begin(repeatOf(first));
    const others = [call(), keyedCall(), call()];
    await begin(others[1]!);
    const results = await Promise.allSettled([...others, first].map((each) => record(service, ended(each))));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
  });

  it('keep their keys as long as they are checkpointed', async () => {
    const first = keyedCall();
    await begin(first);
    for (let times = 0; times < 4; times += 1) {
      harness.clock.advance(leaseMs / 2);
      expect(await checkpoint(service, { call: first, tokens: used })).toEqual([true]);
      expect((await begin(repeatOf(first))).$case).toBe('inProgress');
    }
    expect((await record(service, ended(first))).chargeNanoUsd).toBe(200_000n);
  });

  it('end as lost with their gateway: charged for what was delivered, which is reported to a repeat', async () => {
    const first = keyedCall();
    await begin(first);
    await checkpoint(service, { call: first, tokens: used });
    harness.clock.advance(leaseMs);
    expect((await begin(repeatOf(first))).$case).toBe('inProgress');
    harness.clock.advance(1);
    await until(async () => (await find(service, first.id))?.settlement !== undefined);
    expect(await begin(repeatOf(first))).toEqual({
      $case: 'answerUnavailable',
      value: { callId: first.id, cause: Cause.CAUSE_GATEWAY_LOST },
    });
    await expect(record(service, ended(first))).rejects.toMatchObject({ reason: 'call_closed' });
  });

  it('keep their keys when they are lost after output that cost nothing, or after input that was charged', async () => {
    const [free, unbegun] = [keyedCall({ price: price({ inputNanoUsdPerMtok: 0n, outputNanoUsdPerMtok: 0n }) }), keyedCall()];
    for (const each of [free, unbegun]) await begin(each);
    await checkpoint(service, { call: free, tokens: used }, { call: unbegun, tokens: tokens({ inputTokens: 100 }) });
    harness.clock.advance(leaseMs + 1);
    for (const each of [free, unbegun]) {
      await until(async () => (await find(service, each.id)) !== undefined);
      expect((await begin(repeatOf(each))).$case).toBe('answerUnavailable');
    }
  });

  it('that were considered lost replay their responses once their gateway has reported after all', async () => {
    const own = await Harness.create(engine);
    try {
      const { service: patient } = await own.replica({ leaseMs, lostGraceMs: 60_000 });
      own.clock.advance(leaseMs);
      const first = keyedCall();
      await begin(first, {}, patient);
      await checkpoint(patient, { call: first, tokens: tokens({ inputTokens: 100, outputTokens: 1 }) });
      own.clock.advance(leaseMs + 1);
      await until(async () => (await find(patient, first.id)) !== undefined);
      expect((await begin(repeatOf(first), {}, patient)).$case).toBe('answerUnavailable');
      expect((await record(patient, ended(first))).chargeNanoUsd).toBe(200_000n);
      expect(await begin(repeatOf(first), {}, patient)).toMatchObject({
        $case: 'completed',
        value: { answer, record: { call: { id: first.id }, chargeNanoUsd: 200_000n } },
      });
      const [kept] = await own.db.knex('kept_total').select('answers', 'bytes');
      const [key] = await own.db.knex('idempotency_key').select('kept_bytes');
      expect([Number(kept.answers), Number(kept.bytes)]).toEqual([1, Number(key.kept_bytes)]);
    } finally {
      await own.close();
    }
  });

  it('free their keys when they are lost with nothing delivered', async () => {
    const whole = keyedCall({ streaming: false });
    const unbegun = keyedCall();
    for (const each of [whole, unbegun]) await begin(each);
    await checkpoint(service, { call: whole, tokens: used }, { call: unbegun, tokens: tokens() });
    harness.clock.advance(leaseMs + 1);
    for (const each of [whole, unbegun]) {
      await until(async () => (await find(service, each.id)) !== undefined);
      expect((await begin(repeatOf(each))).$case).toBe('reserved');
      await expect(record(service, ended(each))).rejects.toMatchObject({ reason: 'call_closed' });
    }
  });

  it('that were lost with nothing delivered are charged by their own reports, unless a repeat has taken their keys', async () => {
    const own = await Harness.create(engine);
    try {
      const { service: patient } = await own.replica({ leaseMs, lostGraceMs: 60_000 });
      own.clock.advance(leaseMs);
      const [first, repeated] = [keyedCall({ streaming: false }), keyedCall({ streaming: false })];
      for (const each of [first, repeated]) {
        await begin(each, {}, patient);
        await checkpoint(patient, { call: each, tokens: used });
      }
      own.clock.advance(leaseMs + 1);
      for (const each of [first, repeated]) await until(async () => (await find(patient, each.id)) !== undefined);
      expect((await begin(repeatOf(repeated), {}, patient)).$case).toBe('reserved');
      await expect(record(patient, ended(repeated))).rejects.toMatchObject({ reason: 'call_closed' });
      expect((await record(patient, ended(first))).chargeNanoUsd).toBe(200_000n);
      expect(await begin(repeatOf(first), {}, patient)).toMatchObject({
        $case: 'completed',
        value: { answer, record: { call: { id: first.id }, chargeNanoUsd: 200_000n } },
      });
      const [kept] = await own.db.knex('kept_total').select('answers');
      expect(Number(kept.answers)).toBe(1);
    } finally {
      await own.close();
    }
  });

  it('that were lost with nothing delivered keep no repeat waiting, even if metering restarts or their gateway continues', async () => {
    const first = keyedCall({ streaming: false });
    await begin(first);
    await checkpoint(service, { call: first, tokens: used });
    harness.clock.advance(leaseMs + 1);
    await until(async () => (await find(service, first.id)) !== undefined);
    const restarted = await harness.replica({ leaseMs });
    expect(await checkpoint(restarted.service, { call: first, tokens: used })).toEqual([false]);
    expect((await begin(repeatOf(first), {}, restarted.service)).$case).toBe('reserved');
  });

  it('are not considered lost because metering was unavailable', async () => {
    const first = keyedCall();
    await begin(first);
    harness.clock.advance(10 * leaseMs);
    const restarted = await harness.replica({ leaseMs });
    expect((await begin(repeatOf(first), {}, restarted.service)).$case).toBe('inProgress');
    expect(await checkpoint(restarted.service, { call: first, tokens: used })).toEqual([true]);
  });

  it('are not considered lost because the database was unavailable', async () => {
    // In the grace period after its start, so that no sweep reads the calls before the clock advances.
    const fresh = await Harness.create(engine);
    try {
      const replica = (await fresh.replica({ leaseMs })).service;
      const first = keyedCall();
      await begin(first, {}, replica);
      await fresh.db.knex.schema.renameTable('open_call', 'away');
      fresh.clock.advance(2 * leaseMs);
      await until(() => fresh.lines.some((line) => line.msg === 'calls in flight could not be read'));
      await fresh.db.knex.schema.renameTable('away', 'open_call');
      expect((await begin(repeatOf(first), {}, replica)).$case).toBe('inProgress');
      fresh.clock.advance(leaseMs - 1);
      expect(await checkpoint(replica, { call: first, tokens: used })).toEqual([true]);
      expect((await record(replica, ended(first))).chargeNanoUsd).toBe(200_000n);
    } finally {
      await fresh.close();
    }
  });

  it('are deleted with their responses when they expire', async () => {
    const [first, second] = [keyedCall(), keyedCall()];
    for (const each of [first, second]) {
      await begin(each);
      await record(service, ended(each));
    }
    expect(await totals()).toEqual([1, 512 + answer.length, 1, 512 + answer.length]);
    // One is requested again just before it expires, the other is only swept.
    harness.clock.advance(86_400_000 - 1);
    expect((await begin(repeatOf(first))).$case).toBe('completed');
    harness.clock.advance(1);
    await until(async () => (await countOf('idempotency_key')) === 0);
    expect(await countOf('stored_answer')).toBe(0);
    expect(await totals()).toEqual([0, 0, 0, 0]);
    expect((await begin(repeatOf(first))).$case).toBe('reserved');
  });

  it('can be deleted by several replicas at once', async () => {
    const own = await Harness.create(engine);
    try {
      const { service: replica } = await own.replica({ leaseMs, sweepIntervalMs: 3_600_000 });
      await begin(keyedCall(), {}, replica);
      const sweepAtMs = own.clock.nowMs() + 86_400_000;
      const sweep = () => deleteExpiredKeys(own.db, sweepAtMs, 86_400_000, 10);
      await expect(Promise.all([sweep(), sweep()])).resolves.toHaveLength(2);
      expect(await own.db.knex('idempotency_key').select('call_id')).toEqual([]);
    } finally {
      await own.close();
    }
  });

  it('that run longer than responses are kept delay no deletion of others, of their account or with their key', async () => {
    const own = await Harness.create(engine);
    try {
      const keptAnswerTtlMs = 1000;
      const { service: replica } = await own.replica({ leaseMs, keptAnswerTtlMs, sweepIntervalMs: 3_600_000 });
      const running = keyedCall();
      await begin(running, {}, replica);
      own.clock.advance(1);
      for (const each of [keyedCall({ accountId: running.accountId }), keyedCall({ idempotencyKeyHash: running.idempotencyKeyHash })]) {
        await begin(each, {}, replica);
        await record(replica, ended(each));
      }
      own.clock.advance(keptAnswerTtlMs);
      for (let sweeps = 0; sweeps < 3; sweeps += 1) await deleteExpiredKeys(own.db, own.clock.nowMs(), keptAnswerTtlMs, 1);
      const left: Record<string, unknown>[] = await own.db.knex('idempotency_key').select('call_id');
      expect(left.map((row) => Buffer.from(row['call_id'] as Buffer).toString('hex'))).toEqual([running.id.slice(4)]);
    } finally {
      await own.close();
    }
  });

  it('keep a response that is stored while a sweep finds its key expired', async () => {
    const first = keyedCall();
    await begin(first);
    const sweepAtMs = harness.clock.nowMs() + 86_400_000;
    const finding: Database = {
      ...harness.db,
      async query(...args) {
        const rows = await harness.db.query(...args);
        harness.clock.advance(1000);
        await record(service, ended(first));
        return rows;
      },
    };
    expect(await deleteExpiredKeys(finding, sweepAtMs, 86_400_000, 10)).toBe(1);
    expect((await begin(repeatOf(first))).$case).toBe('completed');
  });

  it('keep their keys for longer than responses are kept while they run', async () => {
    const brief = await harness.replica({ leaseMs, keptAnswerTtlMs: 1000 });
    const first = keyedCall();
    await begin(first, {}, brief.service);
    for (let times = 0; times < 3; times += 1) {
      harness.clock.advance(5000);
      await aWhile();
      expect((await begin(repeatOf(first), {}, brief.service)).$case).toBe('inProgress');
      expect(await checkpoint(brief.service, { call: first, tokens: used })).toEqual([true]);
    }
    expect((await record(brief.service, ended(first))).chargeNanoUsd).toBe(200_000n);
  });

  it('are still charged when a repeat that would take over their key is refused because the quota is used up', async () => {
    const small = await harness.replica({ leaseMs, keptBytesPerAccountMax: 512 });
    const accountId = newId('acct');
    const first = keyedCall({ accountId });
    await begin(first);
    const other = keyedCall({ accountId });
    await begin(other);
    await record(service, ended(other));
    // The gateway of the first call is slow to checkpoint it.
    harness.clock.advance(leaseMs + 1);
    const repeat = keyedCall({ accountId, idempotencyKeyHash: first.idempotencyKeyHash });
    await expect(begin(repeat, {}, small.service)).rejects.toMatchObject({ reason: 'overloaded' });
    expect(await record(service, ended(first))).toMatchObject({ call: { id: first.id } });
  });

  it('are refused, and their keys not reserved, when an account or all accounts store too much', async () => {
    const small = await harness.replica({ leaseMs, keptBytesPerAccountMax: 1024, keptBytesMax: 2048 });
    const accountId = newId('acct');
    const keep = async (of: string): Promise<void> => {
      const each = keyedCall({ accountId: of });
      await begin(each);
      await record(service, ended(each));
    };
    await keep(accountId);
    expect((await begin(keyedCall({ accountId }), {}, small.service)).$case).toBe('reserved');
    await keep(accountId);
    const refused = keyedCall({ accountId });
    await expect(begin(refused, {}, small.service)).rejects.toMatchObject({ reason: 'overloaded', details: { field: 'idempotency-key' } });
    expect((await begin(refused)).$case).toBe('reserved');
    expect((await begin(keyedCall(), {}, small.service)).$case).toBe('reserved');
    for (let times = 0; times < 3; times += 1) await keep(newId('acct'));
    // The time of day may be set back meanwhile.
    harness.clock.step(-3_600_000);
    harness.clock.advance(5001);
    await expect(begin(keyedCall(), {}, small.service)).rejects.toMatchObject({ reason: 'overloaded' });
  });
});
