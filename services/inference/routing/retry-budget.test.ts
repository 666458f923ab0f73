import { describe, expect, it } from '@jest/globals';
import { RetryBudget } from './retry-budget.js';

/** Takes retries until none is left. */
function takeAll(budget: RetryBudget, nowMs: number): number {
  let taken = 0;
  while (budget.take(nowMs)) taken += 1;
  return taken;
}

describe('the budget for retries', () => {
  it('has a minimum, saved up for ten seconds, which comes back by the second', () => {
    const budget = new RetryBudget({ percent: 20, perSecondMin: 2 }, 0);
    expect(takeAll(budget, 0)).toBe(20);
    expect(takeAll(budget, 1000)).toBe(2);
    expect(takeAll(budget, 3_600_000)).toBe(20);
  });

  it('grows by a share of the calls', () => {
    const budget = new RetryBudget({ percent: 20, perSecondMin: 0 }, 0);
    for (let call = 0; call < 500; call += 1) budget.noteCall(0);
    expect(takeAll(budget, 0)).toBeGreaterThanOrEqual(99);
    expect(budget.take(1000)).toBe(false);
  });

  it('has no retry for less than a whole one', () => {
    const budget = new RetryBudget({ percent: 25, perSecondMin: 0 }, 0);
    const taken = Array.from({ length: 4 }, () => {
      budget.noteCall(0);
      return budget.take(0);
    });
    expect(taken).toEqual([false, false, false, true]);
  });

  it('limits the retries of an outage to that share', () => {
    const budget = new RetryBudget({ percent: 20, perSecondMin: 1 }, 0);
    let taken = 0;
    for (let nowMs = 0; nowMs < 60_000; nowMs += 10) {
      budget.noteCall(nowMs);
      if (budget.take(nowMs)) taken += 1;
    }
    // 6,000 calls in a minute: 20 % of them, and one per second.
    expect(taken).toBeGreaterThan(1100);
    expect(taken).toBeLessThanOrEqual(1200 + 60 + 10);
  });

  it('loses retries that were not used', () => {
    const budget = new RetryBudget({ percent: 20, perSecondMin: 0 }, 0);
    for (let call = 0; call < 500; call += 1) budget.noteCall(0);
    expect(takeAll(budget, 60_000)).toBe(0);
  });
});
