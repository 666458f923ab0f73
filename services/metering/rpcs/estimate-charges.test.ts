import { describe, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { chargeFor } from '#rules/money/pricing.js';
import { estimateCharges } from './estimate-charges.js';

const context = callContext({ caller: 'gateway' });
const cheap = PriceVersion.fromPartial({ inputNanoUsdPerMtok: 1n, outputNanoUsdPerMtok: 3_000_000n });
const dear = PriceVersion.fromPartial({
  inputNanoUsdPerMtok: 2_500_000_000n,
  outputNanoUsdPerMtok: 10_000_000_000n,
  reasoningNanoUsdPerMtok: 20_000_000_000n,
});
const small = TokenCounts.fromPartial({ inputTokens: 7, outputTokens: 3 });
const large = TokenCounts.fromPartial({ inputTokens: 1000, cacheReadTokens: 5, outputTokens: 2000, reasoningTokens: 1500 });

describe('estimates of charges', () => {
  it('equal the charges of calls of these sizes, price by price', async () => {
    const { estimates } = await estimateCharges({ prices: [cheap, dear], tokens: [small, large] }, context);
    expect(estimates).toEqual([chargeFor(small, cheap), chargeFor(large, cheap), chargeFor(small, dear), chargeFor(large, dear)]);
    // 7 tokens at 1 nano-dollar per million are a whole nano-dollar: each line is rounded up.
    expect(estimates[0]?.chargeNanoUsd).toBe(1n + 9n);
    expect(estimates[3]?.chargeNanoUsd).toBe(2_500_000n + 500n * 10_000n + 1500n * 20_000n);
  });

  it('never count more reasoning than output', async () => {
    const { estimates } = await estimateCharges(
      { prices: [dear], tokens: [TokenCounts.fromPartial({ outputTokens: 1, reasoningTokens: 5 })] },
      context,
    );
    expect(estimates[0]?.chargeNanoUsd).toBe(20_000n);
  });

  it('count what a price has of other units, up to its cap', async () => {
    const units = [{ unit: 'web_search', nanoUsd: 10n, maxPerCall: 3 }];
    const searches = (count: number) =>
      TokenCounts.fromPartial({
        units: {
          counts: [
            { unit: 'web_search', count },
            { unit: 'image', count: 9 },
          ],
        },
      });
    const { estimates } = await estimateCharges({ prices: [{ ...cheap, units }, cheap], tokens: [searches(2), searches(7)] }, context);
    expect(estimates.map(({ chargeNanoUsd }) => chargeNanoUsd)).toEqual([20n, 30n, 0n, 0n]);
  });

  it('are limited in number, and reject prices out of bounds', async () => {
    const refused = { reason: 'invalid_request' };
    await expect(
      estimateCharges({ prices: [PriceVersion.fromPartial({ inputNanoUsdPerMtok: -1n })], tokens: [small] }, context),
    ).rejects.toMatchObject(refused);
    const units = [{ unit: 'image', nanoUsd: -1n, maxPerCall: 1 }];
    await expect(estimateCharges({ prices: [{ ...cheap, units }], tokens: [small] }, context)).rejects.toMatchObject(refused);
    await expect(estimateCharges({ prices: [cheap], tokens: Array.from({ length: 17 }, () => small) }, context)).rejects.toMatchObject(
      refused,
    );
    await expect(estimateCharges({ prices: Array.from({ length: 4001 }, () => cheap), tokens: [small] }, context)).rejects.toMatchObject(
      refused,
    );
  });
});
