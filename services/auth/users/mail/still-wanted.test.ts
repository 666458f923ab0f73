import { expect, it } from '@jest/globals';
import { stillWanted } from './still-wanted.js';

it('a mail is sent until its link expires, and always if its kind is unknown, as of a newer version', async () => {
  const none = {} as Parameters<typeof stillWanted>[0];
  const isWanted = stillWanted({ ...none, clock: { nowMs: () => 1000, monotonicMs: () => 1000 } });
  expect(await isWanted('sign-up 1001')).toBe(true);
  expect(await isWanted('sign-up 1000')).toBe(false);
  expect(await isWanted('newer ntf_1')).toBe(true);
});
