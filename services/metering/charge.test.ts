import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LineKind } from '#proto/metering/v1/metering.js';
import { chargeFor, nanoUsdPerMtokMax } from './charge.js';
import { price, tokens } from './testing/calls.js';

const count = fc.nat({ max: 4_294_967_295 });
const unitPrice = fc.bigInt({ min: 0n, max: nanoUsdPerMtokMax });
const anyTokens = fc
  .record({
    inputTokens: count,
    cacheReadTokens: count,
    cacheWrite5mTokens: count,
    cacheWrite1hTokens: count,
    outputTokens: count,
    reasoningTokens: count,
  })
  .map((counts) => ({ ...counts, reasoningTokens: Math.min(counts.reasoningTokens, counts.outputTokens) }));
const anyPrice = fc
  .record({
    inputNanoUsdPerMtok: unitPrice,
    cacheReadNanoUsdPerMtok: unitPrice,
    cacheWrite5mNanoUsdPerMtok: unitPrice,
    cacheWrite1hNanoUsdPerMtok: unitPrice,
    outputNanoUsdPerMtok: unitPrice,
    reasoningNanoUsdPerMtok: fc.option(unitPrice, { nil: undefined }),
  })
  .map((prices) => price(prices));

describe('a charge', () => {
  it('is the published example, to the nano-dollar', () => {
    // 1,234 input at 3 USD and 567 output at 15 USD per million tokens.
    const { chargeNanoUsd, lineItems } = chargeFor(
      tokens({ inputTokens: 1234, outputTokens: 567 }),
      price({ inputNanoUsdPerMtok: 3_000_000_000n, outputNanoUsdPerMtok: 15_000_000_000n }),
    );
    expect(lineItems).toEqual([
      { kind: LineKind.LINE_KIND_INPUT, tokens: 1234, nanoUsdPerMtok: 3_000_000_000n, amountNanoUsd: 3_702_000n },
      { kind: LineKind.LINE_KIND_OUTPUT, tokens: 567, nanoUsdPerMtok: 15_000_000_000n, amountNanoUsd: 8_505_000n },
    ]);
    expect(chargeNanoUsd).toBe(12_207_000n);
  });

  it('rounds each line up, once', () => {
    const { lineItems } = chargeFor(
      tokens({ inputTokens: 1, cacheReadTokens: 1_000_000, outputTokens: 1_000_001 }),
      price({ inputNanoUsdPerMtok: 1n, cacheReadNanoUsdPerMtok: 1n, outputNanoUsdPerMtok: 1n }),
    );
    expect(lineItems.map((item) => item.amountNanoUsd)).toEqual([1n, 1n, 2n]);
  });

  it('takes reasoning out of output only when reasoning has a price', () => {
    const counts = tokens({ outputTokens: 100, reasoningTokens: 60 });
    const apart = chargeFor(counts, price({ outputNanoUsdPerMtok: 1_000_000n, reasoningNanoUsdPerMtok: 2_000_000n }));
    expect(apart.lineItems.map((item) => [item.kind, item.tokens, item.amountNanoUsd])).toEqual([
      [LineKind.LINE_KIND_OUTPUT, 40, 40n],
      [LineKind.LINE_KIND_REASONING, 60, 120n],
    ]);
    const together = chargeFor(counts, price({ outputNanoUsdPerMtok: 1_000_000n, reasoningNanoUsdPerMtok: undefined }));
    expect(together.lineItems.map((item) => [item.kind, item.tokens, item.amountNanoUsd])).toEqual([
      [LineKind.LINE_KIND_OUTPUT, 100, 100n],
    ]);
  });

  it('keeps a line for tokens that cost nothing', () => {
    expect(chargeFor(tokens({ inputTokens: 5 }), price({ inputNanoUsdPerMtok: 0n }))).toEqual({
      chargeNanoUsd: 0n,
      lineItems: [{ kind: LineKind.LINE_KIND_INPUT, tokens: 5, nanoUsdPerMtok: 0n, amountNanoUsd: 0n }],
    });
  });

  it('is, for any tokens and prices, the sum of lines that are exact and rounded up by less than a nano-dollar', () => {
    fc.assert(
      fc.property(anyTokens, anyPrice, (counts, prices) => {
        const { chargeNanoUsd, lineItems } = chargeFor(counts, prices);
        expect(lineItems.reduce((sum, item) => sum + item.amountNanoUsd, 0n)).toBe(chargeNanoUsd);
        for (const item of lineItems) {
          const excess = item.amountNanoUsd * 1_000_000n - BigInt(item.tokens) * item.nanoUsdPerMtok;
          expect(excess >= 0n && excess < 1_000_000n).toBe(true);
        }
        const perKind = new Set(lineItems.map((item) => item.kind));
        expect(perKind.size).toBe(lineItems.length);
        const { inputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens, outputTokens } = counts;
        const all = inputTokens + cacheReadTokens + cacheWrite5mTokens + cacheWrite1hTokens + outputTokens;
        expect(lineItems.reduce((sum, item) => sum + item.tokens, 0)).toBe(all);
        expect(chargeNanoUsd < 2n ** 63n).toBe(true);
      }),
    );
  });

  it('never falls when tokens are added', () => {
    fc.assert(
      fc.property(anyTokens, anyPrice, fc.nat({ max: 1000 }), (counts, prices, more) => {
        const before = chargeFor({ ...counts, outputTokens: counts.reasoningTokens }, prices).chargeNanoUsd;
        const after = chargeFor({ ...counts, outputTokens: counts.reasoningTokens + more }, prices).chargeNanoUsd;
        expect(after >= before).toBe(true);
      }),
    );
  });
});
