import { describe, expect, it } from '@jest/globals';
import { OutcomeWindow } from './outcome-window.js';

describe('the window of outcomes', () => {
  it('counts the outcomes within its duration, and forgets older ones slot by slot', () => {
    const window = new OutcomeWindow(1000);
    for (let nowMs = 0; nowMs < 1000; nowMs += 10) window.note(nowMs % 20 === 0, nowMs);
    expect([window.total, window.bad]).toEqual([100, 50]);
    window.advance(1050);
    expect([window.total, window.bad]).toEqual([90, 45]);
    window.advance(1899);
    expect([window.total, window.bad]).toEqual([10, 5]);
    window.advance(1_000_000);
    expect([window.total, window.bad]).toEqual([0, 0]);
  });

  it('equals a count of the outcomes themselves, whenever they occur', () => {
    const window = new OutcomeWindow(1000);
    const outcomes: { atMs: number; isBad: boolean }[] = [];
    let [nowMs, seed] = [0, 1];
    for (let count = 0; count < 2000; count += 1) {
      seed = (seed * 16_807) % 2_147_483_647;
      nowMs += seed % 97 === 0 ? 700 + (seed % 900) : seed % 40;
      outcomes.push({ atMs: nowMs, isBad: seed % 3 === 0 });
      window.note(seed % 3 === 0, nowMs);
      const kept = outcomes.filter(({ atMs }) => Math.floor(atMs / 100) > Math.floor(nowMs / 100) - 10);
      expect([window.total, window.bad]).toEqual([kept.length, kept.filter(({ isBad }) => isBad).length]);
    }
  });
});
