import { expect, it } from '@jest/globals';
import { repeat } from './repeat.js';

it('stops with the run in progress, without waiting for another interval', async () => {
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const work = async (): Promise<void> => {
    begun.resolve();
    await finish.promise;
  };
  const stop = repeat(200, work, () => undefined);
  await begun.promise;
  let isStopped = false;
  const stopped = stop().then(() => (isStopped = true));
  finish.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isStopped).toBe(true);
  await stopped;
});

it('does not run again when it is stopped between two runs', async () => {
  let runs = 0;
  const stop = repeat(
    200,
    async () => (runs += 1),
    () => undefined,
  );
  await stop();
  expect(runs).toBe(0);
});

it('reports the first of consecutive failures only', async () => {
  const results = [false, false, true, false];
  const failures: unknown[] = [];
  const over = Promise.withResolvers<void>();
  const work = async (): Promise<void> => {
    const succeeds = results.shift();
    if (results.length === 0) over.resolve();
    if (succeeds === false) throw new Error(`with ${results.length} to come`);
  };
  const stop = repeat(1, work, (error) => failures.push((error as Error).message));
  await over.promise;
  await stop();
  expect(failures).toEqual(['with 3 to come', 'with 0 to come']);
});
