import { describe, expect, it } from '@jest/globals';
import { type Candidate, chooseTarget, ejectedMax } from './choose-target.js';
import { draw } from './prefix-hash.js';
import type { Standing } from './target-health.js';

const candidate = (priority: number, weight = 1, standing: Standing = 'available', untilMs = 0): Candidate => ({
  priority,
  weight,
  standing,
  untilMs,
});

describe('the next target', () => {
  it('is of the first priority that has a usable one', () => {
    const [a, b, c] = [candidate(0, 1, 'ejected'), candidate(2), candidate(1)];
    expect(chooseTarget([a, b, c], () => 0.99)).toBe(c);
    expect(chooseTarget([a, b], () => 0)).toBe(b);
  });

  it('is chosen by weight within a priority', () => {
    const targets = [candidate(1, 3), candidate(1, 1), candidate(2, 100), candidate(1, 4, 'cooling')];
    const counts = new Map<Candidate, number>();
    for (let step = 0; step < 400; step += 1) {
      const chosen = chooseTarget(targets, () => step / 400)!;
      counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
    }
    expect(targets.map((target) => counts.get(target) ?? 0)).toEqual([300, 100, 0, 0]);
  });

  it('is the healthier or faster of two that are chosen by weight, if the difference is clear', () => {
    const slow = { ...candidate(0), latencyMs: 900 };
    const fast = { ...candidate(0), latencyMs: 300 };
    const chosen = (targets: Candidate[], ...values: number[]) => chooseTarget(targets, () => values.shift()!);
    for (const pair of [
      [slow, fast],
      [
        { ...fast, badShare: 0.4 },
        { ...fast, badShare: 0 },
      ],
      [
        { ...candidate(0), badShare: 0.4 },
        { ...candidate(0), latencyMs: 300 },
      ],
    ]) {
      expect(chosen(pair, 0, 0.9)).toBe(pair[1]);
      expect(chosen(pair, 0.9, 0)).toBe(pair[1]);
      // The worse one is still called.
      expect(chosen(pair, 0, 0)).toBe(pair[0]);
    }
    const similar = { ...candidate(0), latencyMs: 330 };
    expect(chosen([fast, similar], 0.9, 0)).toBe(similar);
    expect(chosen([slow, candidate(0)], 0, 0.9)).toBe(slow);
  });

  it('is the same for the same prefix, in proportion to the weights, and only the calls of a target that is out go elsewhere', () => {
    const names = [11, 22, 33];
    const weights = [2, 1, 1];
    const choices = (out: number | undefined) =>
      Array.from({ length: 4000 }, (_, prefix) => {
        const targets = names.map((hash, index) => ({
          ...candidate(0, weights[index], hash === out ? 'ejected' : 'available'),
          hash,
          draw: draw(prefix * 7919, hash),
        }));
        return chooseTarget(targets, () => 0)!.hash;
      });
    const all = choices(undefined);
    const counts = names.map((name) => all.filter((chosen) => chosen === name).length);
    for (const [index, count] of counts.entries()) expect(Math.abs(count - weights[index]! * 1000)).toBeLessThan(120);
    const without = choices(11);
    expect(all.filter((chosen, index) => chosen !== 11 && chosen !== without[index])).toEqual([]);
    expect(without).not.toContain(11);
  });

  it('may be one whose trial is due, but not one that is on trial', () => {
    const [due, on, fine] = [candidate(0, 1, 'trial_due'), candidate(0, 1, 'on_trial'), candidate(1)];
    expect(chooseTarget([on, fine], () => 0)).toBe(fine);
    expect(chooseTarget([due, fine], () => 0)).toBe(due);
  });

  it('is a cooling one rather than an ejected one if none is usable, and of those the one that is available first', () => {
    const [late, soon] = [candidate(0, 1, 'ejected', 20), candidate(9, 1, 'ejected', 10)];
    const cooling = candidate(5, 1, 'cooling', 99);
    expect(chooseTarget([late, soon, cooling], () => 0)).toBe(cooling);
    expect(chooseTarget([late, soon], () => 0)).toBe(soon);
    expect(chooseTarget([late], () => 0)).toBe(late);
    expect(chooseTarget([], () => 0)).toBeUndefined();
  });
});

describe('the targets that may be ejected', () => {
  it.each([
    [1, 100, 0],
    [2, 0, 1],
    [2, 80, 1],
    [3, 80, 2],
    [5, 80, 4],
    [16, 50, 8],
    [3, 100, 3],
  ])('of %d at %d %%: %d', (targets, percent, max) => {
    expect(ejectedMax(targets, percent)).toBe(max);
  });
});
