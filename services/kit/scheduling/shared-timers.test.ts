import { expect, it } from '@jest/globals';
import { afterAbout } from './shared-timers.js';

/** Waits for this long; returns when it ended, in milliseconds since the start. */
const waited = (waitMs: number, sinceMs: number): Promise<number> =>
  new Promise((resolve) => {
    afterAbout(waitMs, () => resolve(performance.now() - sinceMs));
    // The wait itself does not keep the process running.
    setTimeout(() => undefined, waitMs + 50);
  });

it('ends waits of about the same length in the same turn of the event loop', async () => {
  const together = ['a', 'b', 'turn after a', 'turn after b'];
  let order: string[] = [];
  const wait = (name: string, waitMs: number) =>
    new Promise<void>((resolve) => {
      afterAbout(waitMs, () => {
        order.push(name);
        setImmediate(() => order.push(`turn after ${name}`));
        resolve();
      });
      setTimeout(() => undefined, waitMs + 50);
    });
  // On a busy machine one of the waits may begin a tick later than the other.
  for (let tries = 0; tries < 5 && order.join() !== together.join(); tries += 1) {
    order = [];
    // Both begin early within a tick, so that they end at the same one.
    await waited(500, performance.now());
    await Promise.all([wait('a', 500), wait('b', 600)]);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }
  expect(order).toEqual(together);
}, 30_000);

it('never ends a wait late because of others, nor more than a tick early', async () => {
  const sinceMs = performance.now();
  const endedMs = await waited(700, sinceMs);
  expect(endedMs).toBeGreaterThanOrEqual(198);
  expect(await waited(20, performance.now())).toBeGreaterThanOrEqual(19);
});

it('does not call what was cancelled', async () => {
  const called: string[] = [];
  const cancel = afterAbout(500, () => called.push('cancelled'));
  const kept = waited(500, performance.now()).then(() => called.push('kept'));
  cancel();
  await kept;
  expect(called).toEqual(['kept']);
});
