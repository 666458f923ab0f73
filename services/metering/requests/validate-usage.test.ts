import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { UsageSource } from '#proto/metering/v1/metering.js';
import { tokens } from '../testing/calls.js';
import { validateUsage } from './validate-usage.js';

const reported = UsageSource.USAGE_SOURCE_REPORTED;
const estimated = UsageSource.USAGE_SOURCE_ESTIMATED;
const cap = 64;

describe('token counts', () => {
  it('that satisfy the rules are unchanged', () => {
    const good = tokens({ inputTokens: 9, cacheReadTokens: 1000, outputTokens: cap, reasoningTokens: cap });
    expect(validateUsage(good, reported, cap)).toEqual({ tokens: good, brokenRules: [] });
  });

  it('reported above the cap are lowered to it', () => {
    const { tokens: clamped, brokenRules } = validateUsage(tokens({ outputTokens: 900, reasoningTokens: 100 }), reported, cap);
    expect(clamped).toMatchObject({ outputTokens: 64, reasoningTokens: 64 });
    expect(brokenRules).toEqual(['output_above_cap (900 of 64)']);
  });

  it('of our own may exceed the cap', () => {
    const counts = tokens({ outputTokens: cap + 1 });
    expect(validateUsage(counts, estimated, cap)).toEqual({ tokens: counts, brokenRules: [] });
  });

  it('with more reasoning than output have reasoning lowered to the output', () => {
    const { tokens: clamped, brokenRules } = validateUsage(tokens({ outputTokens: 10, reasoningTokens: 11 }), estimated, cap);
    expect(clamped).toMatchObject({ outputTokens: 10, reasoningTokens: 10 });
    expect(brokenRules).toEqual(['reasoning_above_output (11 of 10)']);
  });

  it.each([
    [-1, 0],
    [1.5, 0],
    [Number.NaN, 0],
    [4_294_967_296, 4_294_967_295],
  ])('of %p count as %p', (count, counted) => {
    const { tokens: clamped, brokenRules } = validateUsage(tokens({ inputTokens: count }), reported, cap);
    expect(clamped.inputTokens).toBe(counted);
    expect(brokenRules).toEqual([`count_out_of_range (inputTokens ${count})`]);
  });

  it('are made to satisfy the rules for any input, and only ever lowered', () => {
    const anything = fc.oneof(
      fc.nat({ max: 200 }),
      fc.integer({ min: -10, max: -1 }),
      fc.constant(Number.NaN),
      fc.double({ min: 0, max: 1e12 }),
    );
    const report = fc.record({
      inputTokens: anything,
      cacheReadTokens: anything,
      cacheWrite5mTokens: anything,
      cacheWrite1hTokens: anything,
      outputTokens: anything,
      reasoningTokens: anything,
    });
    fc.assert(
      fc.property(report, fc.constantFrom(reported, estimated), (counts, source) => {
        const first = validateUsage(counts, source, cap);
        expect(validateUsage(first.tokens, source, cap)).toEqual({ tokens: first.tokens, brokenRules: [] });
        for (const name of Object.keys(first.tokens) as (keyof typeof counts)[]) {
          expect(first.tokens[name] <= Math.max(0, counts[name] || 0)).toBe(true);
        }
        if (first.brokenRules.length === 0) expect(first.tokens).toEqual(counts);
      }),
    );
  });
});
