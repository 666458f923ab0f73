import { describe, expect, it } from '@jest/globals';
import { Allowance } from './allowance.js';

describe('the allowance of an account', () => {
  it('is used up by that account alone, and is renewed', () => {
    const allowance = new Allowance(3, 1000);
    expect([1, 2, 3].map(() => allowance.take('acct_a', 500))).toEqual([0, 0, 0]);
    expect(allowance.take('acct_a', 700)).toBe(800);
    expect(allowance.take('acct_b', 700)).toBe(0);
    expect(allowance.take('acct_a', 1499)).toBe(1);
    expect([1, 2, 3].map(() => allowance.take('acct_a', 1500))).toEqual([0, 0, 0]);
    expect(allowance.take('acct_a', 1500)).toBe(1000);
  });
});
