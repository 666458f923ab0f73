import { describe, expect, it } from '@jest/globals';
import { isSamePrice, priceFaults, priceInForce, scheduledPrices } from './price.js';
import { unitPriceNanoUsdMax } from '#rules/money/pricing.js';
import { examplePrice } from '../testing/examples.js';

const first = examplePrice({ id: 'first', effectiveFromMs: 1000n });
const second = examplePrice({ id: 'second', effectiveFromMs: 2000n });
const third = examplePrice({ id: 'third', effectiveFromMs: 3000n });

describe('the price in force', () => {
  it.each([
    [999, undefined],
    [1000, 'first'],
    [1999, 'first'],
    [2000, 'second'],
    [2999, 'second'],
    [3000, 'third'],
    [1_000_000, 'third'],
  ])('at %i is the one with the latest start not after it', (nowMs, id) => {
    expect(priceInForce([second, third, first], nowMs)?.id).toBe(id);
  });

  it('is none for a model without versions', () => {
    expect(priceInForce([], 1000)).toBeUndefined();
  });
});

describe('scheduled prices', () => {
  it('start later than now, the earliest first', () => {
    expect(scheduledPrices([third, first, second], 1000).map(({ id }) => id)).toEqual(['second', 'third']);
  });

  it('are no longer scheduled at their start', () => {
    expect(scheduledPrices([first], 1000)).toEqual([]);
  });
});

describe('a unit price', () => {
  it('may be zero and may be the maximum', () => {
    expect(
      priceFaults(examplePrice({ inputNanoUsdPerMtok: 0n, outputNanoUsdPerMtok: unitPriceNanoUsdMax, reasoningNanoUsdPerMtok: 0n })),
    ).toEqual([]);
  });

  it.each([
    ['input_nano_usd_per_mtok', { inputNanoUsdPerMtok: -1n }],
    ['cache_read_nano_usd_per_mtok', { cacheReadNanoUsdPerMtok: -1n }],
    ['cache_write_5m_nano_usd_per_mtok', { cacheWrite5mNanoUsdPerMtok: -1n }],
    ['cache_write_1h_nano_usd_per_mtok', { cacheWrite1hNanoUsdPerMtok: -1n }],
    ['output_nano_usd_per_mtok', { outputNanoUsdPerMtok: unitPriceNanoUsdMax + 1n }],
    ['reasoning_nano_usd_per_mtok', { reasoningNanoUsdPerMtok: -1n }],
    ['units[0].unit', { units: [{ unit: 'Image', nanoUsd: 1n, maxPerCall: 1 }] }],
    ['units[0].max_per_call', { units: [{ unit: 'request', nanoUsd: 1n, maxPerCall: 2 }] }],
    ['units[0].nano_usd', { units: [{ unit: 'image', nanoUsd: -1n, maxPerCall: 2 }] }],
    [
      'units[1].unit',
      {
        units: [
          { unit: 'image', nanoUsd: 1n, maxPerCall: 1 },
          { unit: 'image', nanoUsd: 1n, maxPerCall: 1 },
        ],
      },
    ],
    ['units', { units: Array.from({ length: 17 }, (_, index) => ({ unit: `u${index}`, nanoUsd: 1n, maxPerCall: 1 })) }],
  ])('out of bounds is a fault of %s', (field, prices) => {
    expect(priceFaults(examplePrice(prices)).map((fault) => fault.field)).toEqual([field]);
  });
});

describe('two versions', () => {
  it('are the same price when only ids and creation differ', () => {
    expect(isSamePrice(examplePrice({ id: 'a', createdAtMs: 1n }), examplePrice({ id: 'b', createdAtMs: 2n }))).toBe(true);
  });

  it.each([
    [{ outputNanoUsdPerMtok: 1n }],
    [{ cacheWrite1hNanoUsdPerMtok: 1n }],
    [{ reasoningNanoUsdPerMtok: 0n }],
    [{ effectiveFromMs: 1n }],
    [{ modelId: 'acme/other' }],
  ])('are different prices with %o', (difference) => {
    expect(isSamePrice(examplePrice(), examplePrice(difference))).toBe(false);
  });
});
