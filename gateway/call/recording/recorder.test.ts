import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Outcome, RecordUsageRequest, type RefundUndeliveredAnswerRequest, UsageRecord } from '#proto/metering/v1/metering.js';
import { ManualClock, systemClock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { recordingLogger } from '#kit/testing/log.js';
import { createRecorder } from './recorder.js';
import type { Spool } from './spool/spool.js';
import { fullSpool } from '../testing/full-spool.js';

const rpcTimeoutMs = 1000;
const spoolAfterMs = 40;
const patienceMs = 120;

interface Options {
  persistenceMs?: number;
  spoolAfterMs?: number;
  clock?: ManualClock;
  spool?: Pick<Spool, 'append'>;
  /** The charge of every record. */
  chargeNanoUsd?: bigint;
  /** Handles each request to refund an answer in metering. */
  refund?: (request: RefundUndeliveredAnswerRequest) => void;
}

/** Returns a recorder over a fake metering service that handles each request with `play`; `recorded` has the reports that it accepted. */
function recorderOver(
  play: (request: RecordUsageRequest, timeoutMs: number) => void | Promise<void>,
  { persistenceMs = 5000, clock, spool = fullSpool, chargeNanoUsd, refund = () => undefined, ...times }: Options = {},
) {
  const recorded: RecordUsageRequest[] = [];
  const refunds: RefundUndeliveredAnswerRequest[] = [];
  let attempts = 0;
  const { log, lines } = recordingLogger();
  const recorder = createRecorder(
    {
      metering: {
        async recordUsage(request, context) {
          attempts += 1;
          await play(request, context!.deadlineMs! - Date.now());
          recorded.push(request);
          return { record: UsageRecord.fromPartial({ outcome: request.outcome, chargeNanoUsd }), replayed: false, responseStorage: 0 };
        },
        async refundUndeliveredAnswer(request) {
          refund(request);
          refunds.push(request);
          return {};
        },
      },
      clock: clock ?? systemClock,
      log,
      rpcTimeoutMs,
      spoolAfterMs,
      patienceMs,
      persistenceMs,
      ...times,
    },
    () => spool,
  );
  return { recorder, recorded, refunds, lines, attempts: () => attempts };
}

/** A spool that accepts every report, into `kept`. */
function takingSpool(): Pick<Spool, 'append'> & { kept: RecordUsageRequest[] } {
  const kept: RecordUsageRequest[] = [];
  return { kept, append: async (request) => void kept.push(request) };
}

const report = (streaming: boolean): RecordUsageRequest =>
  RecordUsageRequest.fromPartial({
    call: { id: newId('req'), streaming },
    tokens: { outputTokens: 7 },
    outcome: Outcome.OUTCOME_COMPLETED,
  });

const throwUnavailable = (): never => {
  throw new AppError('service_unavailable', 'Unavailable.');
};
const unavailable = expect.objectContaining({ reason: 'service_unavailable' });

describe('an ended call', () => {
  it.each(['service_unavailable', 'deadline_exceeded', 'overloaded', 'internal'] as const)(
    'is recorded although metering first failed with %s',
    async (reason) => {
      const spool = takingSpool();
      const { recorder, recorded, attempts } = recorderOver(
        () => {
          if (attempts() < 2) throw new AppError(reason, 'No.');
        },
        { spool },
      );
      expect((await recorder.record(report(true)).record).tokens).toMatchObject({ outputTokens: 7 });
      expect(recorded.length + spool.kept.length).toBe(1);
    },
  );

  it('is not spooled when metering accepts it in time after all', async () => {
    const spool = takingSpool();
    const fails = (): void => void (attempts() < 2 && throwUnavailable());
    const { recorder, recorded, attempts } = recorderOver(fails, { spool, spoolAfterMs: 60_000 });
    const request = report(true);
    expect((await recorder.record(request).record).record).toBeDefined();
    expect([recorded, spool.kept]).toEqual([[request], []]);
  });

  it('is spooled in time although metering does not answer, and is awaited longer there if the spool is full', async () => {
    const timeoutsMs: number[] = [];
    const { recorder } = recorderOver((_, timeoutMs) => {
      timeoutsMs.push(timeoutMs);
      if (timeoutsMs.length < 2) throwUnavailable();
    });
    await recorder.record(report(true)).record;
    expect(timeoutsMs[0]).toBeLessThanOrEqual(50);
    expect(timeoutsMs[1]).toBeGreaterThan(50);
  });

  it('is not retried when metering rejects it permanently', async () => {
    const { recorder, attempts } = recorderOver(() => {
      throw new AppError('call_closed', 'Lost.');
    });
    const { record, ended } = recorder.record(report(true));
    await expect(record).rejects.toMatchObject({ reason: 'call_closed' });
    await ended;
    expect(attempts()).toBe(1);
    recorder.assertRecording();
  });

  it('is spooled as reported when metering is unavailable, and its caller gets the end', async () => {
    const spool = takingSpool();
    const { recorder, attempts } = recorderOver(throwUnavailable, { spool });
    for (const streaming of [true, false]) {
      const request = report(streaming);
      const { record, ended } = recorder.record(request);
      expect(await record).toEqual({ tokens: TokenCounts.fromPartial({ outputTokens: 7 }), record: undefined });
      await ended;
      expect(spool.kept.at(-1)).toEqual(request);
    }
    // The second was spooled immediately, without a request to metering.
    const attemptsMade = attempts();
    await recorder.record(report(true)).record;
    expect(attempts()).toBe(attemptsMade);
  });
});

describe('an ended call whose hold is written with its record', () => {
  it('is spooled once the ledger has written the hold', async () => {
    const spool = takingSpool();
    const keptBefore: number[] = [];
    const { recorder } = recorderOver(throwUnavailable, { spool });
    const writeHold = async (): Promise<void> => void keptBefore.push(spool.kept.length);
    expect(await recorder.record(report(false), writeHold).record).toMatchObject({ record: undefined });
    expect([keptBefore, spool.kept.length]).toEqual([[0], 1]);
  });

  it('is not spooled while the ledger is unavailable too: its caller receives an error, and it is free', async () => {
    let isUnavailable = true;
    const spool = takingSpool();
    const { recorder, recorded } = recorderOver(() => void (isUnavailable && throwUnavailable()), { spool });
    const { record, ended } = recorder.record(report(false), async () => throwUnavailable());
    await expect(record).rejects.toEqual(unavailable);
    isUnavailable = false;
    await ended;
    expect(spool.kept).toEqual([]);
    expect(recorded).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: true })]);
  });

  it('needs no other request to the ledger when metering stores it', async () => {
    const { recorder } = recorderOver(() => undefined);
    expect(await recorder.record(report(false), async () => throwUnavailable()).record).toMatchObject({ record: expect.anything() });
  });
});

describe('an ended call that the spool does not accept either', () => {
  it('is spooled without the response that is stored with it, because nobody could find that until it is posted', async () => {
    const spool = takingSpool();
    const { recorder } = recorderOver(throwUnavailable, { spool });
    const sent = { ...report(true), storedResponse: { parts: [], keptMs: 1 } };
    expect(await recorder.record(sent).record).toEqual({ tokens: sent.tokens, record: undefined });
    expect(spool.kept).toEqual([{ ...sent, storedResponse: undefined }]);
  });

  it('of a stream is recorded and charged after its caller received an error', async () => {
    let isUnavailable = true;
    const { recorder, recorded } = recorderOver(() => void (isUnavailable && throwUnavailable()));
    const { record, ended } = recorder.record(report(true));
    await expect(record).rejects.toEqual(unavailable);
    isUnavailable = false;
    await ended;
    expect(recorded).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_COMPLETED, free: false })]);
  });

  it('of a whole answer, of which nothing was delivered, is recorded as free after that', async () => {
    let isUnavailable = true;
    const { recorder, recorded } = recorderOver(() => void (isUnavailable && throwUnavailable()));
    const { record, ended } = recorder.record(report(false));
    await expect(record).rejects.toEqual(unavailable);
    isUnavailable = false;
    await ended;
    expect(recorded).toEqual([
      expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, outcomeDetail: 'service_unavailable', free: true }),
    ]);
  });

  it('is spooled as free when the disk is so slow that its caller received an error in the meantime', async () => {
    const spool = takingSpool();
    const slow = { append: (request: RecordUsageRequest) => sleep(patienceMs * 2).then(() => spool.append(request)) };
    const { recorder } = recorderOver(throwUnavailable, { spool: slow });
    const { record, ended } = recorder.record(report(false));
    await expect(record).rejects.toEqual(unavailable);
    await ended;
    expect(spool.kept.at(-1)).toMatchObject({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: true });
  });

  it('is posted as free when its caller received an error before the spool had stored it', async () => {
    let isUnavailable = true;
    const slow = { append: () => sleep(patienceMs * 2) };
    const { recorder, recorded } = recorderOver(() => void (isUnavailable && throwUnavailable()), { spool: slow });
    const request = { ...report(false), storedAnswer: Buffer.from('answer') };
    const { record, ended } = recorder.record(request);
    await expect(record).rejects.toEqual(unavailable);
    isUnavailable = false;
    await recorder.post(request);
    expect(recorded).toEqual([
      expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: true, storedAnswer: Buffer.alloc(0) }),
    ]);
    await ended;
  });

  it.each([
    ['is refunded when a whole answer was withheld', false],
    ['remains charged when a stream was delivered', true],
  ])('and that metering had already charged %s', async (_what, streaming) => {
    let isUnavailable = true;
    const { recorder, refunds } = recorderOver(() => void (isUnavailable && throwUnavailable()), { chargeNanoUsd: 700n });
    const { call, ...rest } = report(streaming);
    const request = { ...rest, call: { ...call!, idempotencyKeyHash: Buffer.alloc(32, 7) } };
    const { record, ended } = recorder.record(request);
    await expect(record).rejects.toEqual(unavailable);
    isUnavailable = false;
    await ended;
    const { id: callId, accountId, idempotencyKeyHash } = request.call;
    expect(refunds).toEqual(streaming ? [] : [{ callId, accountId, idempotencyKeyHash }]);
  });

  it('is refunded also when its report was in flight while its client was sent an error', async () => {
    let answer = (): void => undefined;
    const { recorder, refunds } = recorderOver(() => new Promise<void>((resolve) => (answer = resolve)), { chargeNanoUsd: 700n });
    const { record, ended } = recorder.record(report(false));
    await expect(record).rejects.toEqual(unavailable);
    answer();
    await ended;
    expect(refunds).toHaveLength(1);
  });

  it('is not refunded when it was free', async () => {
    const { recorder, refunds } = recorderOver(() => undefined, { chargeNanoUsd: 0n });
    await recorder.post({ ...report(false), free: true });
    expect(refunds).toEqual([]);
  });

  it('is not refunded when its client received it', async () => {
    const { recorder, refunds } = recorderOver(() => undefined, { chargeNanoUsd: 700n });
    const { record, ended } = recorder.record(report(false));
    expect((await record).record?.chargeNanoUsd).toBe(700n);
    await ended;
    expect(refunds).toEqual([]);
  });

  it('is spooled when metering cannot refund it, and refunded once the spool posts it, also after a restart', async () => {
    let isUnavailable = true;
    const spool = takingSpool();
    let hasRoom = false;
    const filling = { append: async (request: RecordUsageRequest) => (hasRoom ? spool.append(request) : fullSpool.append(request)) };
    const options = { chargeNanoUsd: 700n, refund: () => void (isUnavailable && throwUnavailable()) };
    let answer = (): void => undefined;
    let isFirst = true;
    const first = recorderOver(() => (isFirst ? new Promise<void>((resolve) => (answer = resolve)) : undefined), {
      ...options,
      spool: filling,
    });
    const { record, ended } = first.recorder.record(report(false));
    await expect(record).rejects.toEqual(unavailable);
    isFirst = false;
    hasRoom = true;
    answer();
    await ended;
    expect(spool.kept).toEqual([expect.objectContaining({ free: true })]);
    const second = recorderOver(() => undefined, options);
    await expect(second.recorder.post(spool.kept[0]!)).rejects.toEqual(unavailable);
    isUnavailable = false;
    await second.recorder.post(spool.kept[0]!);
    expect([first.refunds.length, second.refunds.length]).toEqual([0, 1]);
  });

  it('whose refund metering rejects is logged with the command that refunds it', async () => {
    const refund = (): never => {
      throw new AppError('failed_precondition', 'Too old.');
    };
    const { recorder, lines } = recorderOver(() => undefined, { chargeNanoUsd: 700n, refund });
    const request = { ...report(false), free: true };
    await recorder.post(request);
    expect(lines.filter(({ msg }) => String(msg).includes(`tollgate balance refund ${request.call!.id}`))).toHaveLength(1);
  });

  it('is spooled when that is possible again, which is logged', async () => {
    const spool = takingSpool();
    let isFull = true;
    const filling = { append: (request: RecordUsageRequest) => (isFull ? fullSpool : spool).append(request) };
    const { recorder, lines, attempts } = recorderOver(() => ((isFull = attempts() < 3), throwUnavailable()), { spool: filling });
    const request = report(true);
    const { record, ended } = recorder.record(request);
    await Promise.allSettled([record, ended]);
    expect(spool.kept).toEqual([request]);
    expect(lines.map(({ msg }) => String(msg)).filter((msg) => msg.startsWith('the spool is'))).toEqual([
      expect.stringContaining('unavailable'),
      'the spool is available again',
    ]);
  });

  it('is not retried after the longest time', async () => {
    const { recorder, attempts, lines } = recorderOver(throwUnavailable, { persistenceMs: 150 });
    const { record, ended } = recorder.record(report(true));
    await expect(record).rejects.toEqual(unavailable);
    await ended;
    const attemptsMade = attempts();
    await sleep(150);
    expect(attempts()).toBe(attemptsMade);
    expect(lines.filter((line) => String(line['msg']).startsWith('the spool is unavailable'))).toHaveLength(1);
  });
});

describe('the patience of callers', () => {
  it('ends with their calls: nothing is withheld from one whose call is recorded', async () => {
    const { recorder, lines } = recorderOver(() => undefined);
    await recorder.record(report(true)).record;
    await sleep(patienceMs * 1.5);
    expect(lines).toEqual([]);
  });

  it('is logged with the calls that are overdue now', async () => {
    let isUnavailable = true;
    const { recorder, lines } = recorderOver(() => void (isUnavailable && throwUnavailable()));
    for (let count = 0; count < 2; count += 1) {
      isUnavailable = true;
      const { record, ended } = recorder.record(report(true));
      await expect(record).rejects.toEqual(unavailable);
      isUnavailable = false;
      await ended;
    }
    expect(lines.flatMap(({ overdue }) => overdue ?? [])).toEqual([1, 1]);
  });
});

describe('whatever the clock does', () => {
  it('an ended call is offered to the spool before the retries end', async () => {
    const clock = new ManualClock();
    const spool = takingSpool();
    const { recorder } = recorderOver(() => (clock.advance(10_000), throwUnavailable()), { spool, clock, persistenceMs: 5000 });
    await recorder.record(report(true)).record;
    expect(spool.kept).toHaveLength(1);
  });

  it.each([3_600_000, -3_600_000])('an outage is detected, and ends when metering answers (clock set by %i ms)', async (ms) => {
    const clock = new ManualClock();
    let isUnavailable = false;
    const { recorder } = recorderOver(() => void (isUnavailable && (clock.advance(spoolAfterMs), throwUnavailable())), {
      spool: takingSpool(),
      clock,
    });
    await recorder.record(report(true)).record;
    isUnavailable = true;
    clock.advance(1);
    clock.step(ms);
    await recorder.record(report(true)).record;
    expect(() => recorder.assertRecording()).toThrow(unavailable);
    clock.step(-ms);
    clock.advance(4999);
    expect(recorder.isRecording()).toBe(false);
    clock.advance(1);
    expect(recorder.isRecording()).toBe(true);
  });
});

describe('new calls', () => {
  it('are rejected while metering is unavailable, except for an occasional trial, and admitted again when it answers', async () => {
    const clock = new ManualClock();
    let isUnavailable = true;
    const spool = takingSpool();
    const { recorder, lines } = recorderOver(() => void (isUnavailable && (clock.advance(spoolAfterMs), throwUnavailable())), {
      spool,
      clock,
    });
    recorder.assertRecording();
    await recorder.record(report(true)).record;
    for (let count = 0; count < 3; count += 1)
      expect(() => recorder.assertRecording()).toThrow(expect.objectContaining({ reason: 'service_unavailable', retryAfterMs: 2000 }));
    expect(recorder.isRecording()).toBe(false);
    // The attempts to post what is spooled do not put the trial off.
    clock.advance(2500);
    await expect(recorder.post(spool.kept[0]!)).rejects.toEqual(unavailable);
    clock.advance(2500 - spoolAfterMs);
    expect(recorder.isRecording()).toBe(true);
    recorder.assertRecording();
    expect(recorder.isRecording()).toBe(false);
    expect(() => recorder.assertRecording()).toThrow(unavailable);
    await expect(recorder.post(spool.kept[0]!)).rejects.toEqual(unavailable);
    isUnavailable = false;
    await recorder.post(spool.kept[0]!);
    recorder.assertRecording();
    recorder.assertRecording();
    expect(lines.map((line) => [line['msg'], line['calls']])).toEqual([
      ['metering is unavailable: ended calls are kept in the spool and new ones are rejected', undefined],
      ['metering is available again', 4],
    ]);
  });

  it('are admitted when only one call cannot be recorded', async () => {
    const bad = report(true);
    const spool = takingSpool();
    const { promise: isAccepted, resolve: accepted } = Promise.withResolvers<void>();
    const { recorder } = recorderOver(
      async (request) => {
        if (request.call!.id !== bad.call!.id) return;
        await isAccepted;
        throw new AppError('internal', 'Broken.');
      },
      { spool },
    );
    const stuck = recorder.record(bad).record;
    await recorder.record(report(true)).record;
    accepted();
    await stuck;
    expect(spool.kept).toEqual([bad]);
    await expect(recorder.post(bad)).rejects.toMatchObject({ reason: 'internal' });
    recorder.assertRecording();
    recorder.assertRecording();
  });

  it('are admitted again when metering rejects a report, because it answers', async () => {
    let reason: AppError['reason'] = 'service_unavailable';
    const { recorder } = recorderOver(() => {
      throw new AppError(reason, 'No.');
    });
    await expect(recorder.post(report(true))).rejects.toEqual(unavailable);
    expect(() => recorder.assertRecording()).toThrow(unavailable);
    reason = 'call_closed';
    await expect(recorder.post(report(true))).rejects.toMatchObject({ reason });
    for (let count = 0; count < 2; count += 1) recorder.assertRecording();
  });

  it('are rejected as soon as a spooled call of an earlier process finds metering unavailable', async () => {
    const { recorder } = recorderOver(throwUnavailable);
    await expect(recorder.post(report(true))).rejects.toEqual(unavailable);
    expect(() => recorder.assertRecording()).toThrow(unavailable);
  });
});
