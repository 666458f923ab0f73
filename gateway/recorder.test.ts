import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Ending, RecordUsageRequest, UsageRecord } from '#proto/metering/v1/metering.js';
import { systemClock } from '#kit/clock.js';
import { AppError } from '#kit/errors/app-error.js';
import { newId } from '#kit/id.js';
import { createLogger } from '#kit/log.js';
import { createRecorder } from './recorder.js';

const patienceMs = 60;

/** A recorder over a metering that does as `play` says with each request; what it took is in `recorded`. */
function recorderOver(play: (request: RecordUsageRequest) => void, persistenceMs = 5000) {
  const recorded: RecordUsageRequest[] = [];
  let attempts = 0;
  const recorder = createRecorder({
    metering: {
      async recordUsage(request) {
        attempts += 1;
        play(request);
        recorded.push(request);
        return { record: UsageRecord.fromPartial({ ending: request.ending }), replayed: false };
      },
    },
    clock: systemClock,
    log: createLogger({ name: 'test', level: 'silent' }),
    rpcTimeoutMs: 100,
    patienceMs,
    persistenceMs,
  });
  return { recorder, recorded, attempts: () => attempts };
}

const report = (streaming: boolean): RecordUsageRequest =>
  RecordUsageRequest.fromPartial({ call: { id: newId('req'), streaming }, ending: Ending.ENDING_COMPLETED });

const unavailable = expect.objectContaining({ reason: 'service_unavailable' });

describe('an ended call', () => {
  it.each(['service_unavailable', 'deadline_exceeded', 'overloaded', 'internal'] as const)('is recorded although metering first failed with %s', async (reason) => {
    const { recorder, recorded, attempts } = recorderOver(() => {
      if (attempts() < 2) throw new AppError(reason, 'No.');
    });
    expect((await recorder.record(report(true)).record).ending).toBe(Ending.ENDING_COMPLETED);
    expect(recorded).toHaveLength(1);
  });

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

  it('of a stream is recorded and charged after its caller was told that it is not', async () => {
    let isAway = true;
    const { recorder, recorded } = recorderOver(() => {
      if (isAway) throw new AppError('service_unavailable', 'Away.');
    });
    const { record, ended } = recorder.record(report(true));
    await expect(record).rejects.toEqual(unavailable);
    isAway = false;
    await ended;
    expect(recorded).toEqual([expect.objectContaining({ ending: Ending.ENDING_COMPLETED, free: false })]);
  });

  it('of a whole answer, of which nothing was delivered, is then recorded as free', async () => {
    let isAway = true;
    const { recorder, recorded } = recorderOver(() => {
      if (isAway) throw new AppError('service_unavailable', 'Away.');
    });
    const { record, ended } = recorder.record(report(false));
    await expect(record).rejects.toEqual(unavailable);
    isAway = false;
    await ended;
    expect(recorded).toEqual([expect.objectContaining({ ending: Ending.ENDING_GATEWAY_ERROR, endingDetail: 'service_unavailable', free: true })]);
  });

  it('is given up in the end', async () => {
    const { recorder, attempts } = recorderOver(() => {
      throw new AppError('service_unavailable', 'Away.');
    }, 100);
    const { record, ended } = recorder.record(report(true));
    await expect(record).rejects.toEqual(unavailable);
    await ended;
    const attemptsMade = attempts();
    await sleep(150);
    expect(attempts()).toBe(attemptsMade);
    recorder.assertRecording();
  });
});

describe('new calls', () => {
  it('are refused while none can be recorded, but for a trial, and let in again when they can', async () => {
    let isAway = true;
    const { recorder } = recorderOver(() => {
      if (isAway) throw new AppError('service_unavailable', 'Away.');
    });
    const { record, ended } = recorder.record(report(true));
    recorder.assertRecording();
    await record.catch(() => undefined);
    expect(() => recorder.assertRecording()).toThrow(unavailable);
    await sleep(patienceMs + 5);
    recorder.assertRecording();
    expect(() => recorder.assertRecording()).toThrow(unavailable);
    isAway = false;
    await ended;
    recorder.assertRecording();
    recorder.assertRecording();
  });

  it('are let in when only one call cannot be recorded', async () => {
    const bad = report(true);
    const { recorder } = recorderOver(
      (request) => {
        if (request.call!.id === bad.call!.id) throw new AppError('internal', 'Broken.');
      },
      300,
    );
    const { record, ended } = recorder.record(bad);
    await record.catch(() => undefined);
    await recorder.record(report(true)).record;
    recorder.assertRecording();
    recorder.assertRecording();
    await ended;
  });
});
