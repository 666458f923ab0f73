import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallContext } from '#client/call-context.js';
import { abortError, AppError } from '#client/errors/app-error.js';
import { ManualClock } from '../clock.js';
import { recordingLogger, silentLog } from '../testing/log.js';
import { eventually } from '../testing/waiting.js';
import { feedState, watch, type Watch, type WatchOptions } from './watch.js';

let following: Watch | undefined;
afterEach(async () => following?.stop());

/** Follows a stream of texts. Returns those that arrive. */
function follow(clock: ManualClock, open: WatchOptions<string>['open'], log = silentLog): string[] {
  const texts: string[] = [];
  const onMessage = (text: string): void => void texts.push(text);
  following = watch({ name: 'texts', caller: 'gateway', open, onMessage, heartbeatMsOf: () => 250, clock, log });
  return texts;
}

/** Resolves when the call is over. */
const over = ({ signal }: CallContext): Promise<void> => new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

describe('a followed stream', () => {
  it('reports in whole milliseconds how long it has been silent', async () => {
    const clock = new ManualClock();
    const texts = follow(clock, async function* (context) {
      yield 'first';
      await over(context);
    });
    await eventually(() => texts[0]);
    clock.advance(120.4);
    expect(feedState(following)).toEqual({ live: true, silentMs: 120 });
  });

  it('is opened again after eight heartbeats without a message', async () => {
    const clock = new ManualClock();
    const texts = follow(clock, async function* (context) {
      yield 'first';
      await over(context);
    });
    await eventually(() => texts[0]);
    clock.advance(2001);
    expect(await eventually(() => texts[1])).toBe('first');
  });

  it('is logged as silent, not as cancelled, when it is closed for that', async () => {
    const clock = new ManualClock();
    const recorded = recordingLogger();
    const texts = follow(
      clock,
      async function* (context) {
        yield 'first';
        await over(context);
        throw abortError(context.signal);
      },
      recorded.log,
    );
    await eventually(() => texts[0]);
    clock.advance(2001);
    const line = await eventually(() => recorded.lines[0]);
    expect(line).toMatchObject({
      watch: 'texts',
      err: { reason: 'service_unavailable', message: 'Nothing arrived for eight heartbeats.' },
    });
  });

  it('has the same time for its first message after an outage, however long the outage was', async () => {
    const clock = new ManualClock();
    let opened = 0;
    const texts = follow(clock, async function* (context) {
      opened += 1;
      if (opened > 1) await sleep(1500, undefined, { signal: context.signal });
      yield String(opened);
      clock.advance(60_000);
      if (opened === 1) throw new AppError('service_unavailable', 'Unavailable.');
      await over(context);
    });
    expect(await eventually(() => texts[1])).toBe('2');
  });
});
