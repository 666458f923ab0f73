import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { TokenClass, TokenCounts } from '#proto/inference/v1/tokens.js';
import { affordableTokens, chargeFor, costAtMost, costBound, lines, pricesOutOfBounds, unitPriceNanoUsdMax } from './pricing.js';

const tokens = (counts: Partial<TokenCounts>): TokenCounts => TokenCounts.fromPartial(counts);
const price = (prices: Partial<PriceVersion>): PriceVersion => PriceVersion.fromPartial(prices);

const count = fc.nat({ max: 4_294_967_295 });
// Free classes and the smallest prices are where rounding decides.
const unitPrice = fc.oneof(
  fc.constantFrom(0n, 0n, 1n, 1_000_000n, unitPriceNanoUsdMax),
  fc.bigInt({ min: 0n, max: 2_000_000n }),
  fc.bigInt({ min: 0n, max: unitPriceNanoUsdMax }),
);
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
      { tokenClass: TokenClass.TOKEN_CLASS_INPUT, tokens: 1234, nanoUsdPerMtok: 3_000_000_000n, amountNanoUsd: 3_702_000n },
      { tokenClass: TokenClass.TOKEN_CLASS_OUTPUT, tokens: 567, nanoUsdPerMtok: 15_000_000_000n, amountNanoUsd: 8_505_000n },
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
    expect(apart.lineItems.map((item) => [item.tokenClass, item.tokens, item.amountNanoUsd])).toEqual([
      [TokenClass.TOKEN_CLASS_OUTPUT, 40, 40n],
      [TokenClass.TOKEN_CLASS_REASONING, 60, 120n],
    ]);
    const together = chargeFor(counts, price({ outputNanoUsdPerMtok: 1_000_000n, reasoningNanoUsdPerMtok: undefined }));
    expect(together.lineItems.map((item) => [item.tokenClass, item.tokens, item.amountNanoUsd])).toEqual([
      [TokenClass.TOKEN_CLASS_OUTPUT, 100, 100n],
    ]);
  });

  it('keeps a line for tokens that cost nothing', () => {
    expect(chargeFor(tokens({ inputTokens: 5 }), price({ inputNanoUsdPerMtok: 0n }))).toEqual({
      chargeNanoUsd: 0n,
      lineItems: [{ tokenClass: TokenClass.TOKEN_CLASS_INPUT, tokens: 5, nanoUsdPerMtok: 0n, amountNanoUsd: 0n }],
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
        const perKind = new Set(lineItems.map((item) => item.tokenClass));
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

describe('the bound of a cost', () => {
  const fewOrMany = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 200_000 }));
  const input = fc.tuple(fewOrMany, fewOrMany, fewOrMany, fewOrMany);

  it('is never less than the charge, whatever is cached, priced and reasoned', () => {
    fc.assert(
      fc.property(anyPrice, input, fewOrMany, fewOrMany, fc.integer({ min: 1, max: 8 }), (prices, [a, b, c, d], answer, text, answers) => {
        const outputTokens = answer * answers;
        const counts = tokens({
          inputTokens: a,
          cacheReadTokens: b,
          cacheWrite5mTokens: c,
          cacheWrite1hTokens: d,
          outputTokens,
          reasoningTokens: Math.max(0, outputTokens - text),
        });
        const bound = costBound(prices, a + b + c + d, answers);
        expect(costAtMost(bound, answer) >= chargeFor(counts, prices).chargeNanoUsd).toBe(true);
      }),
    );
  });

  it('is exceeded by no more than the rounding of the other lines', () => {
    // One token of each class, each at a price that rounds up to one nano-dollar.
    const prices = price(Object.fromEntries(priceFields.map((field) => [field, 1n])));
    const counts = tokens({
      inputTokens: 1,
      cacheReadTokens: 1,
      cacheWrite5mTokens: 1,
      cacheWrite1hTokens: 1,
      outputTokens: 2,
      reasoningTokens: 1,
    });
    expect(chargeFor(counts, prices).chargeNanoUsd).toBe(6n);
    expect(costAtMost(costBound(prices, 4, 1), 2)).toBe(6n);
  });

  it('reserves nothing for classes that are free', () => {
    expect(costAtMost(costBound(price({}), 1000, 3), 1000)).toBe(0n);
    const dear = price(Object.fromEntries(priceFields.map((field) => [field, unitPriceNanoUsdMax])));
    // Without input no line of the input is rounded, only those of output and reasoning.
    expect(costBound(dear, 0, 1).inputNanoUsd).toBe(1n);
    expect(costAtMost(costBound(price({ inputNanoUsdPerMtok: 1_000_000n }), 1000, 1), 1000)).toBe(1000n);
    expect(costAtMost(costBound(price({ outputNanoUsdPerMtok: 1_000_000n, reasoningNanoUsdPerMtok: 0n }), 1000, 1), 1000)).toBe(1000n);
  });

  it('affords as many tokens as an amount pays for, and not one more', () => {
    fc.assert(
      fc.property(
        anyPrice,
        fewOrMany,
        fc.integer({ min: 1, max: 8 }),
        fc.bigInt({ min: 0n, max: 10n ** 13n }),
        (prices, inputTokens, answers, amount) => {
          const bound = costBound(prices, inputTokens, answers);
          const cap = 100_000;
          const affordable = affordableTokens(bound, amount, cap);
          if (affordable > 0) expect(costAtMost(bound, affordable) <= amount).toBe(true);
          if (affordable < cap) expect(costAtMost(bound, affordable + 1) > amount).toBe(true);
        },
      ),
    );
  });
});

const priceFields = [
  'inputNanoUsdPerMtok',
  'cacheReadNanoUsdPerMtok',
  'cacheWrite5mNanoUsdPerMtok',
  'cacheWrite1hNanoUsdPerMtok',
  'outputNanoUsdPerMtok',
  'reasoningNanoUsdPerMtok',
] as const;

describe('the table of lines', () => {
  it('has a line for every kind of line item, in their order', () => {
    const kinds = Object.values(TokenClass).filter((kind) => typeof kind === 'number' && kind > 0);
    expect(lines.map(({ kind }) => kind)).toEqual(kinds);
  });

  it.each(priceFields)('bounds %s on both sides', (field) => {
    const name = field.replace(/(?<=[a-z])(?=[A-Z]|\d)/g, '_').toLowerCase();
    for (const bad of [-1n, unitPriceNanoUsdMax + 1n]) expect(pricesOutOfBounds(price({ [field]: bad }))).toEqual([name]);
    for (const good of [0n, unitPriceNanoUsdMax]) expect(pricesOutOfBounds(price({ [field]: good }))).toEqual([]);
  });
});
