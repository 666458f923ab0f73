import { describe, expect, it } from '@jest/globals';
import { nextStepSize, recordsPerStepMax, recordsPerStepMin } from './step-size.js';

/** Returns the successive sizes if each record takes this long. */
function sizesOf(recordMs: number, first = recordsPerStepMin): number[] {
  const sizes = [first];
  for (let step = 0; step < 10; step += 1) sizes.push(nextStepSize(sizes.at(-1)!, sizes.at(-1)!, sizes.at(-1)! * recordMs));
  return sizes;
}

describe('a step of the roll-up worker', () => {
  it.each([0.001, 0.02, 0.05, 0.1, 0.16])(
    'takes no longer than others can wait, and is as large as that allows, at %d ms per record',
    (recordMs) => {
      const sizes = sizesOf(recordMs);
      const last = sizes.at(-1)!;
      expect(last * recordMs).toBeLessThanOrEqual(16);
      expect(last === recordsPerStepMax || last * recordMs >= 7).toBe(true);
      expect(nextStepSize(last, last, last * recordMs)).toBe(last);
    },
  );

  it('stays within its bounds, and does not grow after steps that were not full', () => {
    expect(sizesOf(1000, recordsPerStepMax).at(-1)).toBe(recordsPerStepMin);
    expect(nextStepSize(100, 3, 0.1)).toBe(100);
  });
});
