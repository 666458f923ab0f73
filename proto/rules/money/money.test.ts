import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatUsd, parseUsd } from './money.js';

describe('amounts', () => {
  it('are formatted exactly, in the shortest form', () => {
    expect(formatUsd(5_000_000_000n)).toBe('5');
    expect(formatUsd(1n)).toBe('0.000000001');
    expect(formatUsd(-1_500_000_000n)).toBe('-1.5');
  });

  it('are parsed back to the same amounts', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -9_000_000_000_000_000_000n, max: 9_000_000_000_000_000_000n }),
        (nano) => parseUsd(formatUsd(nano)) === nano,
      ),
    );
  });

  it('are refused when not decimal or finer than a nano-dollar', () => {
    for (const text of ['', '1.', '.5', '1e3', '0.0000000001', '1,5', ' 1', '+1']) expect(parseUsd(text)).toBeUndefined();
  });
});
