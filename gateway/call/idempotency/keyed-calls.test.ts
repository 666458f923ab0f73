import { describe, expect, it } from '@jest/globals';
import type { Model } from '#proto/catalog/v1/catalog.js';
import {
  type ReleaseIdempotencyKeyRequest,
  type ReserveIdempotencyKeyRequest,
  type ReserveIdempotencyKeyResponse,
  ReserveIdempotencyKeyResponse_Cause as Cause,
  Outcome,
  type RecordUsageRequest,
  UsageRecord,
} from '#proto/metering/v1/metering.js';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { batch, callWorld, output, type Play as CallPlay, read, started } from '../testing/call-world.js';
import { createKeyedCalls, type KeyedCalls } from './keyed-calls.js';

interface Play extends CallPlay {
  begin?: (request: ReserveIdempotencyKeyRequest) => ReserveIdempotencyKeyResponse['result'];
  find?: () => Model;
}

/** Returns keyed calls over fake services, and what the fakes received. */
function world(play: Play = {}) {
  const begun: ReserveIdempotencyKeyRequest[] = [];
  const abandoned: ReleaseIdempotencyKeyRequest[] = [];
  const { deps, seen, request } = callWorld({
    ...play,
    metering: {
      async reserveIdempotencyKey(reservation) {
        begun.push(reservation);
        return { result: play.begin === undefined ? { $case: 'reserved', value: {} } : play.begin(reservation) };
      },
      async releaseIdempotencyKey(release) {
        abandoned.push(release);
        return {};
      },
    },
  });
  const calls = createKeyedCalls(deps);
  const begin = (streaming = true): ReturnType<KeyedCalls['begin']> =>
    calls.begin(request(streaming), { key: 'order-1', endpoint: 'messages', fingerprint: Buffer.alloc(32, 1) });
  return { calls, begin, seen: Object.assign(seen, { begun, abandoned }) };
}

const refusalOf = (call: Promise<unknown>): Promise<AppError> =>
  call.then(
    () => Promise.reject(new Error('The call was admitted.')),
    (error: AppError) => error,
  );

describe('a call with an idempotency key', () => {
  it('stores its answer with its record, and a repeat gets the same steps', async () => {
    const first = world();
    const { steps, callId } = await first.begin();
    const answer = await read(steps);
    expect(answer.kinds).toEqual(['admitted', 'events', 'events', 'recorded']);
    const [recorded] = first.seen.records;
    expect(recorded!.call).toMatchObject({ id: callId, idempotencyKeyHash: first.seen.begun[0]!.keyHash });
    expect([first.calls.count(), first.seen.abandoned]).toEqual([0, []]);

    const record = UsageRecord.fromPartial({ call: recorded!.call!, tokens: recorded!.tokens! });
    const second = world({ begin: () => ({ $case: 'completed', value: { record, answer: recorded!.storedAnswer } }) });
    const again = await second.begin();
    expect(again.callId).toBe(callId);
    expect(await read(again.steps)).toMatchObject({ events: answer.events });
    expect(second.seen).toMatchObject({ generated: 0, records: [] });
  });

  it('is counted as a request when its answer is replayed, and not replayed beyond the limit', async () => {
    const first = world();
    await read((await first.begin()).steps);
    const [{ call, tokens, storedAnswer }] = first.seen.records as [RecordUsageRequest];
    const record = UsageRecord.fromPartial({ call: call!, tokens: tokens! });
    const admitted: string[] = [];
    const { begin } = world({
      begin: () => ({ $case: 'completed', value: { record, answer: storedAnswer } }),
      limiter: {
        async admitReplay(_call, modelId) {
          if (admitted.push(modelId) > 1) throw new AppError('rate_limited', 'Slow down.');
        },
      },
    });
    await read((await begin()).steps);
    expect((await refusalOf(begin())).reason).toBe('rate_limited');
    expect(admitted).toEqual(['m', 'm']);
  });

  it('releases its key when it is rejected before a model was called', async () => {
    const { begin, seen } = world({
      hold: () => {
        throw new AppError('balance_empty', 'Empty.');
      },
    });
    const { steps, callId } = await begin();
    expect((await read(steps)).error?.reason).toBe('balance_empty');
    expect(seen.abandoned).toEqual([expect.objectContaining({ callId, keyHash: seen.begun[0]!.keyHash })]);
  });

  it.each<[boolean, string, number]>([
    [true, 'with what was delivered and the error', 1],
    [false, 'without an answer, for nothing was delivered', 0],
  ])('that breaks off (stream: %s) is recorded %s', async (streaming, _what, answers) => {
    const { begin, seen } = world({
      async *generate() {
        yield batch(started, ...output);
        throw new AppError('upstream_failed', 'It broke.');
      },
    });
    expect((await read((await begin(streaming)).steps)).error?.reason).toBe('upstream_failed');
    expect(seen.abandoned).toEqual([]);
    expect(seen.records).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT, free: !streaming })]);
    expect(seen.records.filter(({ storedAnswer }) => storedAnswer.length > 0)).toHaveLength(answers);
  });

  it('is not admitted while metering cannot determine whether its key was used, and leaves no reservation', async () => {
    const { begin, seen } = world({
      begin: () => {
        throw new AppError('service_unavailable', 'Unavailable.');
      },
    });
    expect(await refusalOf(begin())).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 2000 });
    expect([seen.generated, seen.abandoned.length]).toEqual([0, 1]);
  });

  it.each<[string, NonNullable<ReserveIdempotencyKeyResponse['result']>, object]>([
    ['another request had', { $case: 'mismatch', value: { callId: 'req_1' } }, { reason: 'idempotency_mismatch' }],
    ['a running call has', { $case: 'inProgress', value: { callId: 'req_1' } }, { reason: 'idempotency_in_progress' }],
    [
      'a call without a kept answer had',
      { $case: 'answerUnavailable', value: { callId: 'req_1', cause: Cause.CAUSE_TOO_LARGE } },
      { reason: 'idempotency_answer_gone' },
    ],
  ])('is rejected with a key that %s', async (_who, outcome, refusal) => {
    const { begin, seen } = world({ begin: () => outcome });
    expect(await refusalOf(begin())).toMatchObject({ ...refusal, details: { field: 'idempotency-key', original_request_id: 'req_1' } });
    expect([seen.generated, seen.abandoned]).toEqual([0, []]);
  });

  it('gets a retry-after equal to the time that the call has run so far, but at least 2 and at most 30 seconds', async () => {
    for (const [ranMs, retryAfterMs] of [
      [500, 2000],
      [9000, 9000],
      [90_000, 30_000],
    ] as const) {
      const callId = newId('req', Date.now() - ranMs);
      const { begin } = world({ begin: () => ({ $case: 'inProgress', value: { callId } }) });
      const waitMs = (await refusalOf(begin())).retryAfterMs!;
      expect(Math.round(waitMs / 1000)).toBe(retryAfterMs / 1000);
    }
  });

  it('gets no stored answer of a model that its platform key may not use, but does of a removed model', async () => {
    const forbidden = world({ permitted: ['other'] });
    expect((await refusalOf(forbidden.begin())).reason).toBe('model_not_permitted');
    expect(forbidden.seen.begun).toEqual([]);
    const withdrawn = world({
      find: () => {
        throw new AppError('model_unknown', 'Gone.');
      },
      begin: () => ({ $case: 'inProgress', value: { callId: 'req_1' } }),
    });
    expect((await refusalOf(withdrawn.begin())).reason).toBe('idempotency_in_progress');
  });

  it.each([true, false])('is a gateway error when the gateway stops in the middle (stream: %s)', async (streaming) => {
    const { begin, seen, calls } = world({
      async *generate(context) {
        yield batch(started, ...output);
        await new Promise((_resolve, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason as Error)));
      },
    });
    const { steps } = await begin(streaming);
    const reading = read(steps);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(calls.count()).toBe(1);
    calls.stop();
    expect((await reading).error?.reason).toBe('service_unavailable');
    expect(seen.records).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: !streaming })]);
    expect(calls.count()).toBe(0);
  });
});
