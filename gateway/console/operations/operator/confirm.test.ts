import { describe, expect, it } from '@jest/globals';
import { assertConfirmed } from './confirm.js';

const deps = { config: { confirmAboveNanoUsd: 100_000_000_000n } };
const refused = (amountNanoUsd: bigint, confirm?: string | null) => () =>
  assertConfirmed(amountNanoUsd, { confirm_amount_usd: confirm }, deps);

describe('an amount', () => {
  it('up to the threshold needs no confirmation', () => {
    expect(refused(100_000_000_000n)).not.toThrow();
    expect(refused(100_000_000_000n, null)).not.toThrow();
  });

  it('above the threshold must be repeated', () => {
    expect(refused(100_000_000_001n)).toThrow('must repeat the amount, $100.000000001, because it is above $100');
    expect(refused(100_000_000_001n, '100')).toThrow('must equal the amount, $100.000000001');
    expect(refused(100_000_000_001n, '100.000000001')).not.toThrow();
    expect(refused(250_500_000_000n, '250.50')).not.toThrow();
  });

  it('that is repeated although it need not be must also match', () => {
    expect(refused(5_000_000_000n, '5.0000000001')).toThrow('must equal the amount, $5');
    expect(refused(5_000_000_000n, '6')).toThrow('must equal the amount, $5');
  });
});
