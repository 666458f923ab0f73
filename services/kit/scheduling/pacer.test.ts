import { expect, it } from '@jest/globals';
import { Pacer } from './pacer.js';

/** Occupies the process. */
function work(ms: number): void {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs;);
}

it('lets other work of the process run after each step', async () => {
  const pacer = new Pacer();
  const done: string[] = [];
  for (const step of ['first', 'second']) {
    setImmediate(() => done.push(`waited during the ${step} step`));
    done.push(`${step} step`);
    await pacer.step();
  }
  expect(done).toEqual(['first step', 'waited during the first step', 'second step', 'waited during the second step']);
});

it('pauses as long as the steps took, however short each is', async () => {
  const pacer = new Pacer();
  let workedMs = 0;
  const startedMs = performance.now();
  for (let steps = 0; steps < 20; steps += 1) {
    work(2);
    workedMs += 2;
    await pacer.step();
  }
  // No pause has followed the last few milliseconds yet.
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(2 * workedMs - 10);
});

it('ends the work once it is aborted', async () => {
  const ended = new AbortController();
  const pacer = new Pacer(ended.signal);
  await pacer.step();
  ended.abort(new Error('the process stops'));
  await expect(pacer.step()).rejects.toThrow('the process stops');
});

it('makes no long pause after the process did other work', async () => {
  const pacer = new Pacer();
  work(1000);
  const startedMs = performance.now();
  await pacer.step();
  expect(performance.now() - startedMs).toBeLessThan(1000);
});

it('continues at every turn of a thread that is busy with other work', async () => {
  let turns = 0;
  let isOver = false;
  const occupy = (): void => {
    if (isOver) return;
    turns += 1;
    work(2);
    setImmediate(occupy);
  };
  setImmediate(occupy);
  const pacer = new Pacer();
  for (let steps = 0; steps < 40; steps += 1) await pacer.step();
  isOver = true;
  expect(turns).toBeLessThanOrEqual(50);
});
