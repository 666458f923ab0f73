import { describe, expect, it } from '@jest/globals';
import { durationText } from './duration.js';

describe('a duration', () => {
  it.each([
    [839.6, '840 ms'],
    [1240, '1.24 s'],
    [59_994, '59.99 s'],
    [59_999, '1 min 0 s'],
    [119_700, '2 min 0 s'],
    [125_000, '2 min 5 s'],
  ])('of %d ms is written without 60 seconds', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});
