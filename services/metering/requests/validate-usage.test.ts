import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { UsageSource } from '#proto/metering/v1/metering.js';
import { tokens } from '../testing/calls.js';
import { validateUsage } from './validate-usage.js';

const reported = UsageSource.USAGE_SOURCE_REPORTED;
const estimated = UsageSource.USAGE_SOURCE_ESTIMATED;
const cap = 64;
const bounds = { outputCapTokens: cap, price: { units: [] } };

describe('token counts', () => {
  it('that satisfy the rules are unchanged', () => {
    const good = tokens({ inputTokens: 9, cacheReadTokens: 1000, outputTokens: cap, reasoningTokens: cap });
    expect(validateUsage(good, reported, bounds)).toEqual({ tokens: good, brokenRules: [] });
  });

  it('reported above the cap are lowered to it', () => {
    const { tokens: clamped, brokenRules } = validateUsage(tokens({ outputTokens: 900, reasoningTokens: 100 }), reported, bounds);
    expect(clamped).toMatchObject({ outputTokens: 64, reasoningTokens: 64 });
    expect(brokenRules).toEqual(['output_above_cap (900 of 64)']);
  });

  it('of our own may exceed the cap', () => {
    const counts = tokens({ outputTokens: cap + 1 });
    expect(validateUsage(counts, estimated, bounds)).toEqual({ tokens: counts, brokenRules: [] });
  });

  it('with more reasoning than output have reasoning lowered to the output', () => {
    const { tokens: clamped, brokenRules } = validateUsage(tokens({ outputTokens: 10, reasoningTokens: 11 }), estimated, bounds);
    expect(clamped).toMatchObject({ outputTokens: 10, reasoningTokens: 10 });
    expect(brokenRules).toEqual(['reasoning_above_output (11 of 10)']);
  });

  it.each([
    [-1, 0],
    [1.5, 0],
    [Number.NaN, 0],
    [4_294_967_296, 4_294_967_295],
  ])('of %p count as %p', (count, counted) => {
    const { tokens: clamped, brokenRules } = validateUsage(tokens({ inputTokens: count }), reported, bounds);
    expect(clamped.inputTokens).toBe(counted);
    expect(brokenRules).toEqual([`count_out_of_range (inputTokens ${count})`]);
  });

  it.each([
    ['within the cap of the call', [['web_search', 3]], [['web_search', 3]], []],
    ['above the cap of the call', [['web_search', 4]], [['web_search', 3]], ['unit_above_cap (web_search 4 of 3)']],
    ['above the cap of the price', [['image', 3]], [['image', 2]], ['unit_above_cap (image 3 of 2)']],
    ['that the call may not use', [['second', 1]], [], ['unit_above_cap (second 1 of 0)']],
    ['without a price', [['gpu_hour', 1]], [], ['unit_unpriced (gpu_hour 1)']],
    ['with a malformed name', [['\n', 1]], [], ['unit_unpriced (malformed 1)']],
    [
      'that occur twice',
      [
        ['web_search', 1],
        ['web_search', 2],
      ],
      [['web_search', 1]],
      ['unit_repeated (web_search 2)'],
    ],
    ['below zero', [['web_search', -1]], [], ['count_out_of_range (web_search -1)']],
    ['of more than one request', [['request', 2]], [['request', 1]], ['unit_above_cap (request 2 of 1)']],
  ] as [string, [string, number][], [string, number][], string[]][])('of units %s become %j', (_, reportedUnits, counted, rules) => {
    const list = (units: [string, number][]) => units.map(([unit, count]) => ({ unit, count }));
    const units = ['request', 'web_search', 'image', 'second'].map((unit) => ({
      unit,
      nanoUsd: 1n,
      maxPerCall: unit === 'image' ? 2 : 10,
    }));
    const unitCaps = {
      counts: list([
        ['web_search', 3],
        ['image', 9],
      ]),
    };
    const result = validateUsage(tokens({ units: { counts: list(reportedUnits) } }), reported, { ...bounds, price: { units }, unitCaps });
    expect(result.tokens.units?.counts ?? []).toEqual(list(counted));
    expect(result.brokenRules).toEqual(rules);
  });

  it('are made to satisfy the rules for any input, and only ever lowered', () => {
    const anything = fc.oneof(
      // Often enough that all six counts satisfy the rules in some reports.
      { weight: 12, arbitrary: fc.nat({ max: cap }) },
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
        const first = validateUsage(counts, source, bounds);
        expect(validateUsage(first.tokens, source, bounds)).toEqual({ tokens: first.tokens, brokenRules: [] });
        for (const name of Object.keys(first.tokens) as (keyof typeof counts)[]) {
          expect(first.tokens[name] <= Math.max(0, counts[name] || 0)).toBe(true);
        }
        if (first.brokenRules.length === 0) expect(first.tokens).toEqual(counts);
      }),
    );
  });
});
