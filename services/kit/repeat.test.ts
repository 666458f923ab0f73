import { expect, it } from '@jest/globals';
import { repeat } from './repeat.js';
import { promised } from './testing/waiting.js';

it('stops with the run in progress, without waiting for another interval', async () => {
  const begun = promised<void>();
  const finish = promised<void>();
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
