import { describe, expect, it } from '@jest/globals';
import { heightsOf, marksOf } from './bar-scale.js';

describe('the axis of a chart', () => {
  it.each([
    [67, [0, 20, 40, 60, 80]],
    [1, [0, 1]],
    [3, [0, 1, 2, 3]],
    [38, [0, 10, 20, 30, 40]],
    [9, [0, 5, 10]],
    [90_600, [0, 25_000, 50_000, 75_000, 100_000]],
    [13, [0, 5, 10, 15]],
    [1050, [0, 500, 1000, 1500]],
    [0, [0, 1]],
  ])('of values up to %d ends close above them', (largest, marks) => {
    expect(marksOf(largest)).toEqual(marks);
  });
});

describe('the parts of a bar', () => {
  it('are all visible, without making the bar higher', () => {
    expect(heightsOf([1000, 1, 0], 1001, 200)).toEqual([198, 2, 0]);
    expect(heightsOf([50, 50], 100, 200)).toEqual([100, 100]);
  });

  it('never make a small bar look larger than it is', () => {
    expect(heightsOf([1, 3, 2, 1, 0.5], 1000, 200)).toEqual([0, 2, 0, 0, 0]);
    expect(heightsOf([10, 30, 0, 1, 0.5], 1000, 200).reduce((sum, each) => sum + each, 0)).toBeCloseTo(8.3);
    expect(heightsOf([0, 0], 1000, 200)).toEqual([0, 0]);
    expect(heightsOf([0.001], 1000, 200)).toEqual([2]);
  });
});
