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
import { fullSpool } from './testing/full-spool.js';

const spoolAfterMs = 40;
const patienceMs = 120;

interface Options {
  persistenceMs?: number;
  clock?: ManualClock;
  spool?: Pick<Spool, 'append'>;
  /** Of every record. */
  chargeNanoUsd?: bigint;
  /** What metering does with each request to refund an answer. */
  refund?: (request: RefundUndeliveredAnswerRequest) => void;
}

/** A recorder over a metering that does as `play` says with each request; what it took is in `recorded`. */
function recorderOver(
  play: (request: RecordUsageRequest) => void | Promise<void>,
  { persistenceMs = 5000, clock, spool = fullSpool, chargeNanoUsd, refund = () => undefined }: Options = {},
) {
  const recorded: RecordUsageRequest[] = [];
  const refunds: RefundUndeliveredAnswerRequest[] = [];
  let attempts = 0;
  const { log, lines } = recordingLogger();
  const recorder = createRecorder(
    {
      metering: {
        async recordUsage(request) {
          attempts += 1;
          await play(request);
          recorded.push(request);
          return { record: UsageRecord.fromPartial({ outcome: request.outcome, chargeNanoUsd }), replayed: false };
        },
        async refundUndeliveredAnswer(request) {
          refund(request);
          refunds.push(request);
          return {};
        },
      },
      clock: clock ?? systemClock,
      log,
      rpcTimeoutMs: 100,
      spoolAfterMs,
      patienceMs,
      persistenceMs,
    },
    () => spool,
  );
  return { recorder, recorded, refunds, lines, attempts: () => attempts };
}

/** A spool that takes everything, into `kept`. */
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

const away = (): never => {
  throw new AppError('service_unavailable', 'Away.');
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

  it('is not tried again when metering refuses it for good', async () => {
    const { recorder, attempts } = recorderOver(() => {
      throw new AppError('call_closed', 'Lost.');
    });
    const { record, ended } = recorder.record(report(true));
    await expect(record).rejects.toMatchObject({ reason: 'call_closed' });
    await ended;
    expect(attempts()).toBe(1);
    recorder.assertRecording();
  });

  it('is spooled as it was reported when metering is away, and its caller gets the end', async () => {
    const spool = takingSpool();
    const { recorder, attempts } = recorderOver(away, { spool });
    for (const streaming of [true, false]) {
      const request = report(streaming);
      const { record, ended } = recorder.record(request);
      expect(await record).toEqual({ tokens: TokenCounts.fromPartial({ outputTokens: 7 }), record: undefined });
      await ended;
      expect(spool.kept.at(-1)).toEqual(request);
    }
    // The second was spooled at once, without a question to metering.
    const attemptsMade = attempts();
    await recorder.record(report(true)).record;
    expect(attempts()).toBe(attemptsMade);
  });
});

describe('an ended call that not even the spool takes', () => {
  it('of a stream is recorded and charged after its caller was told that it is not', async () => {
    let isAway = true;
    const { recorder, recorded } = recorderOver(() => void (isAway && away()));
    const { record, ended } = recorder.record(report(true));
    await expect(record).rejects.toEqual(unavailable);
    isAway = false;
    await ended;
    expect(recorded).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_COMPLETED, free: false })]);
  });

  it('of a whole answer, of which nothing was delivered, is then recorded as free', async () => {
    let isAway = true;
    const { recorder, recorded } = recorderOver(() => void (isAway && away()));
    const { record, ended } = recorder.record(report(false));
    await expect(record).rejects.toEqual(unavailable);
    isAway = false;
    await ended;
    expect(recorded).toEqual([
      expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, outcomeDetail: 'service_unavailable', free: true }),
    ]);
  });

  it('is spooled as free when the disk was so slow that its caller was told of a fault meanwhile', async () => {
    const spool = takingSpool();
    const slow = { append: (request: RecordUsageRequest) => sleep(patienceMs * 2).then(() => spool.append(request)) };
    const { recorder } = recorderOver(away, { spool: slow });
    const { record, ended } = recorder.record(report(false));
    await expect(record).rejects.toEqual(unavailable);
    await ended;
    expect(spool.kept.at(-1)).toMatchObject({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: true });
  });

  it('is posted as free when its caller was told of a fault before the spool was done with it', async () => {
    let isAway = true;
    const slow = { append: () => sleep(patienceMs * 2) };
    const { recorder, recorded } = recorderOver(() => void (isAway && away()), { spool: slow });
    const request = { ...report(false), storedAnswer: Buffer.from('answer') };
    const { record, ended } = recorder.record(request);
    await expect(record).rejects.toEqual(unavailable);
    isAway = false;
    await recorder.post(request);
    expect(recorded).toEqual([
      expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: true, storedAnswer: Buffer.alloc(0) }),
    ]);
    await ended;
  });

  it.each([
    ['is refunded where a whole answer was withheld', false],
    ['stands where a stream was delivered', true],
  ])('and that metering had charged already %s', async (_what, streaming) => {
    let isAway = true;
    const { recorder, refunds } = recorderOver(() => void (isAway && away()), { chargeNanoUsd: 700n });
    const { call, ...rest } = report(streaming);
    const request = { ...rest, call: { ...call!, idempotencyKeyHash: Buffer.alloc(32, 7) } };
    const { record, ended } = recorder.record(request);
    await expect(record).rejects.toEqual(unavailable);
    isAway = false;
    await ended;
    const { id: callId, accountId, idempotencyKeyHash } = request.call;
    expect(refunds).toEqual(streaming ? [] : [{ callId, accountId, idempotencyKeyHash }]);
  });

  it('is refunded also when its report was under way as its client was sent an error', async () => {
    let answer = (): void => undefined;
    const { recorder, refunds } = recorderOver(() => new Promise<void>((resolve) => (answer = resolve)), { chargeNanoUsd: 700n });
    const { record, ended } = recorder.record(report(false));
    await expect(record).rejects.toEqual(unavailable);
    answer();
    await ended;
    expect(refunds).toHaveLength(1);
  });

  it('is not refunded when its client received it', async () => {
    const { recorder, refunds } = recorderOver(() => undefined, { chargeNanoUsd: 700n });
    const { record, ended } = recorder.record(report(false));
    expect((await record).record?.chargeNanoUsd).toBe(700n);
    await ended;
    expect(refunds).toEqual([]);
  });

  it('is spooled when metering cannot take the refund, and refunded once the spool posts it, also after a restart', async () => {
    let isAway = true;
    const spool = takingSpool();
    let hasRoom = false;
    const filling = { append: async (request: RecordUsageRequest) => (hasRoom ? spool.append(request) : fullSpool.append(request)) };
    const options = { chargeNanoUsd: 700n, refund: () => void (isAway && away()) };
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
    isAway = false;
    await second.recorder.post(spool.kept[0]!);
    expect([first.refunds.length, second.refunds.length]).toEqual([0, 1]);
  });

  it('that metering refuses to refund is logged with the command that refunds it', async () => {
    const refund = (): never => {
      throw new AppError('failed_precondition', 'Too old.');
    };
    const { recorder, lines } = recorderOver(() => undefined, { chargeNanoUsd: 700n, refund });
    const request = { ...report(false), free: true };
    await recorder.post(request);
    expect(lines.filter(({ msg }) => String(msg).includes(`tollgate balance refund ${request.call!.id}`))).toHaveLength(1);
  });

  it('is given up in the end', async () => {
    const { recorder, attempts, lines } = recorderOver(away, { persistenceMs: 150 });
    const { record, ended } = recorder.record(report(true));
    await expect(record).rejects.toEqual(unavailable);
    await ended;
    const attemptsMade = attempts();
    await sleep(150);
    expect(attempts()).toBe(attemptsMade);
    expect(lines.filter((line) => String(line['msg']).startsWith('the spool is away'))).toHaveLength(1);
  });
});

describe('whatever the clock does', () => {
  it('an ended call is offered to the spool before it is given up', async () => {
    const clock = new ManualClock();
    const spool = takingSpool();
    const { recorder } = recorderOver(() => (clock.advance(10_000), away()), { spool, clock, persistenceMs: 5000 });
    await recorder.record(report(true)).record;
    expect(spool.kept).toHaveLength(1);
  });

  it.each([3_600_000, -3_600_000])('an outage is noticed and over when metering answers (clock set by %i ms)', async (ms) => {
    const clock = new ManualClock();
    let isAway = false;
    const { recorder } = recorderOver(() => void (isAway && (clock.advance(spoolAfterMs), away())), { spool: takingSpool(), clock });
    await recorder.record(report(true)).record;
    isAway = true;
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
  it('are refused while metering is away, but for a trial, and let in again when it answers', async () => {
    const clock = new ManualClock();
    let isAway = true;
    const spool = takingSpool();
    const { recorder, lines } = recorderOver(() => void (isAway && (clock.advance(spoolAfterMs), away())), { spool, clock });
    recorder.assertRecording();
    await recorder.record(report(true)).record;
    for (let count = 0; count < 3; count += 1)
      expect(() => recorder.assertRecording()).toThrow(expect.objectContaining({ reason: 'service_unavailable', retryAfterMs: 2000 }));
    expect(recorder.isRecording()).toBe(false);
    clock.advance(5000);
    expect(recorder.isRecording()).toBe(true);
    recorder.assertRecording();
    expect(recorder.isRecording()).toBe(false);
    expect(() => recorder.assertRecording()).toThrow(unavailable);
    await expect(recorder.post(spool.kept[0]!)).rejects.toEqual(unavailable);
    isAway = false;
    await recorder.post(spool.kept[0]!);
    recorder.assertRecording();
    recorder.assertRecording();
    expect(lines.map((line) => [line['msg'], line['calls']])).toEqual([
      ['metering is away: ended calls are kept in the spool and new ones are refused', undefined],
      ['metering is back', 4],
    ]);
  });

  it('are let in when only one call cannot be recorded', async () => {
    const bad = report(true);
    const spool = takingSpool();
    const { recorder } = recorderOver(
      (request) => {
        if (request.call!.id === bad.call!.id) throw new AppError('internal', 'Broken.');
      },
      { spool },
    );
    const stuck = recorder.record(bad).record;
    await recorder.record(report(true)).record;
    await stuck;
    expect(spool.kept).toEqual([bad]);
    await expect(recorder.post(bad)).rejects.toMatchObject({ reason: 'internal' });
    recorder.assertRecording();
    recorder.assertRecording();
  });

  it('are refused as soon as a spooled call of an earlier process finds metering away', async () => {
    const { recorder } = recorderOver(away);
    await expect(recorder.post(report(true))).rejects.toEqual(unavailable);
    expect(() => recorder.assertRecording()).toThrow(unavailable);
  });
});
