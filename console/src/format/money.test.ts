import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { axisUsd, digitsAlone, digitsOf, fewDigitsOf, nanoUsdOf, roundedUsd, shareOf, showUsd, usdOfNano, usdText } from './money.js';

describe('displayed amounts', () => {
  it('show cents first and lose no digit', () => {
    expect(showUsd('1234.5005')).toEqual({ main: '$1,234.50', rest: '05' });
    expect(usdText('0')).toBe('$0.00');
    expect(usdText('-0.000000001')).toBe('−$0.000000001');
    expect(usdText('5')).toBe('$5.00');
    expect(() => showUsd('1e3')).toThrow(RangeError);
  });

  it('equal the amount of the API for every amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 19n), max: 10n ** 19n }), (nano) => {
        expect(nanoUsdOf(usdOfNano(nano))).toBe(nano);
        expect(nanoUsdOf(usdText(usdOfNano(nano)).replace('−', '-').replace(/[$,]/g, ''))).toBe(nano);
      }),
    );
  });

  it('have one precision in a column, and are never rounded to nothing', () => {
    expect(digitsOf(['5', null, '0.25'])).toBe(2);
    expect(digitsOf(['5', '0.0123'])).toBe(4);
    expect(digitsOf(['0.000000001'])).toBe(6);
    expect(fewDigitsOf(['135.265966', '0', null, '-1.28'])).toBe(2);
    expect(fewDigitsOf(['135.265966', '0.08539'])).toBe(4);
    expect(fewDigitsOf(['135.265966', '0.000007'])).toBe(6);
    expect(fewDigitsOf(['0.05', '0'])).toBe(2);
    expect(['1234.5', '0.0123456', '0.000000001', '0', '-2.9999996'].map((usd) => roundedUsd(usd, 6))).toEqual([
      '$1,234.500000',
      '$0.012346',
      '<$0.000001',
      '$0.000000',
      '−$3.000000',
    ]);
    expect(['25', '0.0062', '0.01', '0'].map((usd) => roundedUsd(usd, digitsAlone(usd)))).toEqual(['$25.00', '$0.0062', '$0.01', '$0.00']);
  });

  it('have shares that fit in a bar', () => {
    expect(shareOf('1', '4')).toBe(0.25);
    expect(shareOf('5', '4')).toBe(1);
    expect(shareOf('0', '0')).toBe(0);
  });

  it.each([
    [0, 1_000_000_000, '$0'],
    [0, 100_000_000, '$0.00'],
    [100_000_000, 100_000_000, '$0.10'],
    [100_000_000, 25_000_000, '$0.100'],
    [75_000_000, 25_000_000, '$0.075'],
    [5_000_000_000, 2_500_000_000, '$5.00'],
    [20_000_000_000, 20_000_000_000, '$20'],
    [100, 100, '$0.0000001'],
  ])('are written at an axis with the decimals of its marks: %i of steps of %i', (nano, step, text) => {
    expect(axisUsd(nano, step)).toBe(text);
  });
});
