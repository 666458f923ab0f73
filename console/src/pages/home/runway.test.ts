import { describe, expect, it } from '@jest/globals';
import { runwayDays } from './runway.js';

describe('how long the money lasts', () => {
  it.each<[string, string, number | null, number?]>([
    ['70', '7', 70],
    ['69.999999999', '7', 69],
    ['0.5', '7', 0],
    ['0', '7', 0],
    ['-3', '7', 0],
    ['70', '6.5', 70, 6.5],
    ['5', '0', null],
    ['9000000000', '0.000000001', 63_000_000_000_000_000_000],
  ])('%s at %s in a week: %s', (available, spent, days, period = 7) => {
    expect(runwayDays(available, spent, period * 86_400_000)).toBe(days);
  });
});
