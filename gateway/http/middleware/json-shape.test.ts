import { describe, expect, it } from '@jest/globals';
import { assertBounded, depthMax, valuesMax } from './json-shape.js';

function nested(levels: number): unknown {
  return JSON.parse('[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2));
}

describe('the shape of a body', () => {
  it('has a maximum nesting depth', () => {
    expect(() => assertBounded(nested(depthMax))).not.toThrow();
    expect(() => assertBounded(nested(depthMax + 2))).toThrow(expect.objectContaining({ reason: 'invalid_request' }));
    expect(() => assertBounded(nested(400_000))).toThrow('nested more than 256 levels');
  });

  it('has a maximum number of values', () => {
    const lists = (count: number): unknown => [
      Array.from({ length: count / 2 }, () => 'x'),
      Array.from({ length: count / 2 - 2 }, () => 1),
    ];
    expect(() => assertBounded(lists(valuesMax))).not.toThrow();
    expect(() => assertBounded(lists(valuesMax + 2))).toThrow('more than 1000000 values');
  });
});
