import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { UsageTotal } from '../../../api/usage.js';
import { usdOfNano } from '../../../format/money.js';
import { chartOf, figuresOf, figureText, shareText, slotsOf, sumOf } from './figures.js';

const total = (name: string, thenName: string, charge: string, calls = 1): UsageTotal => ({
  name,
  then_name: thenName,
  calls,
  errors: 1,
  charge_usd: charge,
  tokens: { input: 2, cache_read: 1, cache_write: 0, output: 4, reasoning: 3 },
  mean_duration_ms: 5,
  mean_first_output_ms: null,
});
const text = (nano: bigint) => usdOfNano(nano);

describe('figures of a chart', () => {
  it('combine the parts of a day on which the clocks change', () => {
    const slots = slotsOf(
      [
        [total('2026-10-31', 'a', '1'), total('2026-11-01', 'a', '0.1')],
        [total('2026-11-01', 'a', '0.2'), total('2026-11-01', 'b', '0.000000001')],
      ],
      'day',
    );
    const chart = chartOf(slots, ['2026-10-31', '2026-11-01', '2026-11-02'], ['a', 'b']);
    expect(chart.series).toEqual(['a', 'b']);
    expect(chart.rows.map((row) => row.map(({ nanoUsd }) => text(nanoUsd)))).toEqual([
      ['1', '0'],
      ['0.3', '0.000000001'],
      ['0', '0'],
    ]);
  });

  it('identify an hour by its instant, whatever its offset', () => {
    const slots = slotsOf([[total('2026-11-01T01:00-04:00', 'a', '1')], [total('2026-11-01T01:00-05:00', 'a', '2')]], 'hour');
    expect([...slots.keys()]).toEqual([String(Date.parse('2026-11-01T05:00Z')), String(Date.parse('2026-11-01T06:00Z'))]);
  });

  it('lose nothing when small groups are combined', () => {
    const names = Array.from({ length: 20 }, (_, index) => `model-${index}`);
    const group = fc.record({
      name: fc.constantFrom('d1', 'd2', 'd3'),
      thenName: fc.constantFrom(...names),
      nano: fc.bigInt({ min: 0n, max: 10n ** 17n }),
      calls: fc.integer({ min: 1, max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(group), fc.integer({ min: 0, max: 20 }), (groups, known) => {
        const totals = groups.map(({ name, thenName, nano, calls }) => total(name, thenName, text(nano), calls));
        // The list of groups may be older than the newest group.
        const { series, rows, others } = chartOf(slotsOf([totals], 'day'), ['d1', 'd2', 'd3'], names.slice(0, known));
        expect(series.length).toBeLessThanOrEqual(9);
        expect(sumOf(rows.flat())).toEqual(sumOf(totals.map(figuresOf)));
        if (series.includes(undefined)) expect(rows.map((row) => row.at(-1))).toEqual(others.rows.map(sumOf));
        else expect(others.names).toEqual([]);
      }),
    );
  });

  it('have at most nine series, and combine nothing if there are exactly nine', () => {
    const of = (count: number) =>
      chartOf(
        new Map(),
        [],
        Array.from({ length: count }, (_, index) => `${index}`),
      ).series;
    expect([of(9).length, of(9).includes(undefined), of(10).length, of(10).at(-1)]).toEqual([9, false, 9, undefined]);
  });

  it('are shown exactly', () => {
    expect(figureText(figuresOf(total('', '', '1234.567890123')), 'spend', String)).toBe('$1,234.567890123');
    expect(figureText(figuresOf(total('', '', '1', 5)), 'calls', String)).toBe('5');
    expect(figureText(figuresOf(total('', '', '1', 5)), 'tokens', String)).toBe('7');
    expect(figureText(figuresOf(total('', '', '1', 5)), 'errors', String)).toBe('1');
    expect([shareText(1n, 10_000n), shareText(0n, 3n)]).toEqual(['<0.1%', '0.0%']);
    expect([shareText(1n, 3n), shareText(2n, 3n), shareText(0n, 0n), shareText(5n, 5n)]).toEqual(['33.3%', '66.7%', '–', '100.0%']);
  });
});
