import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReleaseRequest } from '#proto/ledger/v1/ledger.js';
import { ManualClock, systemClock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { recordingLogger } from '#kit/testing/log.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { createUnknownHolds } from './unknown-holds.js';

/** Creates unknown holds over a fake ledger that handles each release with `play`; `released` has the ids that it released. */
function over(play: (request: ReleaseRequest) => void, clock: ManualClock | typeof systemClock = systemClock) {
  const released: string[] = [];
  const { log, lines } = recordingLogger();
  const holds = createUnknownHolds({
    ledger: {
      async release(request) {
        play(request);
        released.push(request.holdId);
        return { hold: undefined };
      },
    },
    clock,
    log,
    rpcTimeoutMs: 100,
    holdTtlMs: 10_000,
  });
  return { holds, released, messages: () => lines.map((line) => [line['level'], line['msg'], line['calls']]) };
}

const hold = (id: number) => ({ holdId: `req_${id}`, accountId: 'acct_1' });
const cause = new AppError('service_unavailable', 'Gone.');

it('are released once the ledger answers, with one line for the outage', async () => {
  let isUnavailable = true;
  const { holds, released, messages } = over(() => {
    if (isUnavailable) throw cause;
  });
  for (let id = 0; id < 50; id += 1)
    expect(holds.release(hold(id), cause)).toMatchObject({ reason: 'service_unavailable', retryAfterMs: 2000 });
  await sleep(150);
  expect(holds.count()).toBe(50);
  isUnavailable = false;
  for (let waitedMs = 0; holds.count() > 0 && waitedMs < 5000; waitedMs += 20) await sleep(20);
  expect(new Set(released).size).toBe(50);
  expect(messages()).toEqual([
    ['warn', 'the ledger is unavailable: new calls are rejected', undefined],
    ['info', 'the ledger is available again', 50],
  ]);
});

it('are not retried when the ledger rejects their release, or when they have expired', async () => {
  const clock = new ManualClock();
  let attempts = 0;
  const { holds } = over((request) => {
    attempts += 1;
    throw request.holdId === 'req_1' ? new AppError('invalid_request', 'What?') : cause;
  }, clock);
  holds.release(hold(1), cause);
  holds.release(hold(2), cause);
  await sleep(50);
  expect(holds.count()).toBe(1);
  clock.advance(10_000);
  for (let waitedMs = 0; holds.count() > 0 && waitedMs < 5000; waitedMs += 20) await sleep(20);
  expect(holds.count()).toBe(0);
  const attemptsMade = attempts;
  await sleep(250);
  expect(attempts).toBe(attemptsMade);
});

it('are released at once when the ledger is back, however many others have expired', async () => {
  const clock = new ManualClock();
  let isUnavailable = true;
  const { holds, released } = over(() => {
    if (isUnavailable) throw cause;
  }, clock);
  for (let id = 0; id < 100; id += 1) holds.release(hold(id), cause);
  await sleep(50);
  clock.advance(10_000);
  isUnavailable = false;
  holds.release(hold(100), cause);
  await untilTrue(() => holds.count() === 0);
  expect(released).toEqual(['req_100']);
});

it('are tried once more when the gateway stops', async () => {
  let isUnavailable = true;
  const { holds, released } = over(() => {
    if (isUnavailable) throw cause;
  });
  holds.release(hold(1), cause);
  await sleep(20);
  isUnavailable = false;
  await holds.stop();
  expect(released).toEqual(['req_1']);
});

it.each(['service_unavailable', 'deadline_exceeded', 'cancelled', 'internal', 'overloaded'] as const)(
  'are released again after a release that failed with %s',
  async (reason) => {
    let attempts = 0;
    const { holds, released } = over(() => {
      attempts += 1;
      if (attempts === 1) throw new AppError(reason, 'No.');
    });
    holds.release(hold(1), cause);
    await untilTrue(() => holds.count() === 0 && attempts === 2);
    expect(released).toEqual(['req_1']);
  },
);

it('are tried one at a time while the ledger is unavailable, and when the gateway stops by a few of them', async () => {
  let attempts = 0;
  const { holds } = over(() => {
    attempts += 1;
    throw cause;
  });
  for (let id = 0; id < 100; id += 1) holds.release(hold(id), cause);
  await sleep(50);
  const first = attempts;
  expect(first).toBeLessThan(50);
  await untilTrue(() => attempts > first);
  expect(attempts - first).toBeLessThan(5);
  await holds.stop();
  expect(attempts - first).toBeLessThan(50);
  expect(holds.count()).toBe(100);
});

it('are about ten thousand at most, and the rest is left to expire', async () => {
  const { holds, messages } = over(() => {
    throw cause;
  });
  for (let id = 0; id < 10_050; id += 1) expect(holds.release(hold(id), cause).reason).toBe('service_unavailable');
  await sleep(20);
  const left = messages().filter(([, message]) => message === 'too many holds of unknown outcome; this one will expire').length;
  // The one whose release is under way is not among the ten thousand.
  expect([holds.count(), left]).toEqual([10_001, 49]);
  await holds.stop();
});
