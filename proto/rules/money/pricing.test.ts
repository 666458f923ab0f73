import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import {
  affordableTokens,
  chargeFor,
  chargesTheSame,
  costAtMost,
  costBound,
  countOf,
  countRequests,
  lines,
  priceList,
  pricesOutOfBounds,
  tokenClasses,
  unitCostNanoUsdMax,
  unitFaults,
  unitPriceNanoUsdMax,
  unitsMax,
} from './pricing.js';

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
      { unit: 'input', quantity: 1234, nanoUsd: 3_000_000_000n, amountNanoUsd: 3_702_000n, per: 1_000_000 },
      { unit: 'output', quantity: 567, nanoUsd: 15_000_000_000n, amountNanoUsd: 8_505_000n, per: 1_000_000 },
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
    expect(apart.lineItems.map((item) => [item.unit, item.quantity, item.amountNanoUsd])).toEqual([
      ['output', 40, 40n],
      ['reasoning', 60, 120n],
    ]);
    const together = chargeFor(counts, price({ outputNanoUsdPerMtok: 1_000_000n, reasoningNanoUsdPerMtok: undefined }));
    expect(together.lineItems.map((item) => [item.unit, item.quantity, item.amountNanoUsd])).toEqual([['output', 100, 100n]]);
  });

  it('keeps a line for tokens that cost nothing', () => {
    expect(chargeFor(tokens({ inputTokens: 5 }), price({ inputNanoUsdPerMtok: 0n }))).toEqual({
      chargeNanoUsd: 0n,
      lineItems: [{ unit: 'input', quantity: 5, nanoUsd: 0n, amountNanoUsd: 0n, per: 1_000_000 }],
    });
  });

  it('is, for any tokens and prices, the sum of lines that are exact and rounded up by less than a nano-dollar', () => {
    fc.assert(
      fc.property(anyTokens, anyPrice, (counts, prices) => {
        const { chargeNanoUsd, lineItems } = chargeFor(counts, prices);
        expect(lineItems.reduce((sum, item) => sum + item.amountNanoUsd, 0n)).toBe(chargeNanoUsd);
        for (const item of lineItems) {
          const excess = item.amountNanoUsd * BigInt(item.per) - BigInt(item.quantity) * item.nanoUsd;
          expect(excess >= 0n && excess < BigInt(item.per)).toBe(true);
        }
        const perKind = new Set(lineItems.map((item) => item.unit));
        expect(perKind.size).toBe(lineItems.length);
        const { inputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens, outputTokens } = counts;
        const all = inputTokens + cacheReadTokens + cacheWrite5mTokens + cacheWrite1hTokens + outputTokens;
        expect(lineItems.reduce((sum, item) => sum + item.quantity, 0)).toBe(all);
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
    expect(costBound(dear, 0, 1).fixedNanoUsd).toBe(1n);
    expect(costAtMost(costBound(price({ inputNanoUsdPerMtok: 1_000_000n }), 1000, 1), 1000)).toBe(1000n);
    expect(costAtMost(costBound(price({ outputNanoUsdPerMtok: 1_000_000n, reasoningNanoUsdPerMtok: 0n }), 1000, 1), 1000)).toBe(1000n);
  });

  it('affords exactly as many tokens as an amount pays for', () => {
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
  it('has a line for every class of tokens, in their order', () => {
    expect(lines.map(({ name }) => name)).toEqual(tokenClasses);
  });

  it.each(priceFields)('bounds %s on both sides', (field) => {
    const name = field.replace(/(?<=[a-z])(?=[A-Z]|\d)/g, '_').toLowerCase();
    for (const bad of [-1n, unitPriceNanoUsdMax + 1n]) expect(pricesOutOfBounds(price({ [field]: bad }))).toEqual([name]);
    for (const good of [0n, unitPriceNanoUsdMax]) expect(pricesOutOfBounds(price({ [field]: good }))).toEqual([]);
  });
});

const unitNames = ['request', 'web_search', 'image', 'second'];
const unitOf = fc.record({
  nanoUsd: fc.oneof(fc.constantFrom(0n, 1n), fc.bigInt({ min: 0n, max: 1_000_000_000n })),
  maxPerCall: fc.integer({ min: 1, max: 1000 }),
});
const anyUnits = fc
  .dictionary(fc.constantFrom(...unitNames), unitOf)
  .map((units) => Object.entries(units).map(([unit, each]) => ({ unit, ...each, ...(unit === 'request' ? { maxPerCall: 1 } : {}) })));

describe('units that are not tokens', () => {
  const units = [
    { unit: 'request', nanoUsd: 1_000_000n, maxPerCall: 1 },
    { unit: 'web_search', nanoUsd: 10_000_000n, maxPerCall: 5 },
  ];
  const priced = price({ inputNanoUsdPerMtok: 1n, units });

  it('are lines of their own, priced one by one, in the order of the price', () => {
    const counts = tokens({
      inputTokens: 1,
      units: {
        counts: [
          { unit: 'web_search', count: 3 },
          { unit: 'request', count: 1 },
          { unit: 'image', count: 9 },
        ],
      },
    });
    expect(chargeFor(counts, priced)).toEqual({
      chargeNanoUsd: 31_000_001n,
      lineItems: [
        { unit: 'input', quantity: 1, nanoUsd: 1n, amountNanoUsd: 1n, per: 1_000_000 },
        { unit: 'request', quantity: 1, nanoUsd: 1_000_000n, amountNanoUsd: 1_000_000n, per: 1 },
        { unit: 'web_search', quantity: 3, nanoUsd: 10_000_000n, amountNanoUsd: 30_000_000n, per: 1 },
      ],
    });
  });

  it('are held for one request and for as many of the others as the call allows', () => {
    expect(costAtMost(costBound(priced, 0, 1), 0)).toBe(1_000_000n);
    expect(costAtMost(costBound(priced, 0, 1, [{ unit: 'web_search', count: 4 }]), 0)).toBe(41_000_000n);
    expect(affordableTokens(costBound(priced, 0, 1), 999_999n, 100)).toBe(0);
    expect(affordableTokens(costBound(priced, 0, 1), 1_000_000n, 100)).toBe(100);
  });

  it('never cost more than what was held, whatever is used of them', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        anyPrice,
        anyUnits,
        fc.nat({ max: 1000 }),
        fc.nat({ max: 1000 }),
        share,
        (prices, others, inputTokens, outputTokens, part) => {
          const all = { ...prices, units: others };
          const caps = others.map(({ unit, maxPerCall }) => ({ unit, count: maxPerCall }));
          const used = caps.map(({ unit, count: cap }) => ({ unit, count: Math.round(cap * part) }));
          const counts = countRequests(tokens({ inputTokens, outputTokens, units: { counts: used } }), all, 1);
          const bound = costBound(all, inputTokens, 1, caps);
          const { chargeNanoUsd, lineItems } = chargeFor(counts, all);
          expect(costAtMost(bound, outputTokens) >= chargeNanoUsd).toBe(true);
          expect(lineItems.reduce((sum, item) => sum + item.amountNanoUsd, 0n)).toBe(chargeNanoUsd);
        },
      ),
    );
  });

  it('fit 64 bits at their highest prices, with the tokens', () => {
    const most = Array.from({ length: unitsMax }, (_, index) => ({ unit: `u${index}`, nanoUsd: unitCostNanoUsdMax, maxPerCall: 1 }));
    expect(unitFaults(most)).toEqual([]);
    const dear = price({ ...Object.fromEntries(priceFields.map((field) => [field, unitPriceNanoUsdMax])), units: most });
    const counts = Object.fromEntries(lines.map(({ count: name }) => [name, 4_294_967_295]));
    const used = tokens({ ...counts, reasoningTokens: 0, units: { counts: most.map(({ unit }) => ({ unit, count: 1 })) } });
    expect(chargeFor(used, dear).chargeNanoUsd < 2n ** 63n).toBe(true);
  });

  it('count one request where requests have a price, and none where they have not', () => {
    const searched = tokens({ units: { counts: [{ unit: 'web_search', count: 2 }] } });
    expect(countOf(countRequests(searched, priced, 1), 'request')).toBe(1);
    expect(countOf(countRequests(searched, priced, 1), 'web_search')).toBe(2);
    expect(countRequests(countRequests(searched, priced, 1), priced, 0)).toEqual(searched);
    expect(countRequests(countRequests(tokens({}), priced, 1), priced, 0).units).toBeUndefined();
    expect(countRequests(searched, price({}), 1)).toBe(searched);
  });

  it.each([
    ['name', { unit: 'Web search' }],
    ['name', { unit: '' }],
    ['name', { unit: 'u'.repeat(33) }],
    ['name', { unit: 'input' }],
    ['repeated', { unit: 'request' }],
    ['max_per_call', { maxPerCall: 0 }],
    ['max_per_call', { maxPerCall: 1_000_000_001 }],
    ['amount', { nanoUsd: -1n }],
    ['amount', { nanoUsd: unitCostNanoUsdMax, maxPerCall: 2 }],
  ])('cannot be priced with a wrong %s: %j', (fault, changes) => {
    const [request, search] = units;
    expect(unitFaults([request!, { ...search!, ...changes }])).toEqual([{ index: 1, fault }]);
  });

  it('cannot allow more than one request in a call', () => {
    expect(unitFaults([{ unit: 'request', nanoUsd: 1n, maxPerCall: 2 }])).toEqual([{ index: 0, fault: 'max_per_call' }]);
  });

  it('make versions differ, in price, cap and presence, but not in order', () => {
    expect(chargesTheSame(priced, price({ ...priced, units: units.toReversed() }))).toBe(true);
    for (const others of [[], units.slice(1), [units[0]!, { ...units[1]!, maxPerCall: 6 }], [units[0]!, { ...units[1]!, nanoUsd: 1n }]])
      expect(chargesTheSame(priced, price({ ...priced, units: others }))).toBe(false);
    expect(priceList(priced).map(({ unit }) => unit)).toEqual([...tokenClasses, 'request', 'web_search']);
  });
});
