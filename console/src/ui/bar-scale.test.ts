import { describe, expect, it } from '@jest/globals';
import { heightsOf, marksOf } from './bar-scale.js';

describe('the axis of a chart', () => {
  it.each([
    [0.67, [0, 0.2, 0.4, 0.6, 0.8]],
    [1, [0, 0.25, 0.5, 0.75, 1]],
    [38, [0, 10, 20, 30, 40]],
    [9.06, [0, 2.5, 5, 7.5, 10]],
    [13, [0, 5, 10, 15]],
    [1050, [0, 500, 1000, 1500]],
    [0, [0, 1]],
  ])('of values up to %d ends close above them', (largest, marks) => {
    const found = marksOf(largest);
    expect(found.map((mark) => Math.round(mark * 1000) / 1000)).toEqual(marks);
  });
});

describe('the parts of a bar', () => {
  it('are all visible, without making the bar higher', () => {
    expect(heightsOf([1000, 1, 0], 1000, 200)).toEqual([198.2, 2, 0]);
    expect(heightsOf([50, 50], 100, 200)).toEqual([100, 100]);
  });
});
