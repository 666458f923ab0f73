import { describe, expect, it } from '@jest/globals';
import { TokenClass } from '#proto/inference/v1/tokens.js';
import { Capability, type DeepPartial, type PriceVersion, PriceWarning_Kind as Kind } from '#proto/catalog/v1/catalog.js';
import { priceDiff } from './price-diff.js';
import { exampleModel, examplePrice } from '../testing/examples.js';

const nowMs = 10_000;
const before = examplePrice({ id: 'before', effectiveFromMs: 1000n });
const model = exampleModel();

const warningsOf = (draft: DeepPartial<PriceVersion>, versions = [before]): [Kind, TokenClass][] =>
  priceDiff(model, examplePrice(draft), versions, nowMs).warnings.map(({ kind, tokenClass }) => [kind, tokenClass]);

describe('what a draft would change', () => {
  it('is listed class by class, with the increase in hundredths of a percent', () => {
    const { changes } = priceDiff(
      model,
      examplePrice({ inputNanoUsdPerMtok: 1_100_000_000n, cacheReadNanoUsdPerMtok: 66_666_666n, reasoningNanoUsdPerMtok: 6_000_000_000n }),
      [before],
      nowMs,
    );
    expect(
      changes.map(({ tokenClass, beforeNanoUsdPerMtok, afterNanoUsdPerMtok, changeBasisPoints }) => [
        tokenClass,
        beforeNanoUsdPerMtok,
        afterNanoUsdPerMtok,
        changeBasisPoints,
      ]),
    ).toEqual([
      [TokenClass.TOKEN_CLASS_INPUT, 1_000_000_000n, 1_100_000_000n, 1000n],
      [TokenClass.TOKEN_CLASS_CACHE_READ, 100_000_000n, 66_666_666n, -3333n],
      [TokenClass.TOKEN_CLASS_CACHE_WRITE_5M, 1_250_000_000n, 1_250_000_000n, 0n],
      [TokenClass.TOKEN_CLASS_CACHE_WRITE_1H, 2_000_000_000n, 2_000_000_000n, 0n],
      [TokenClass.TOKEN_CLASS_OUTPUT, 5_000_000_000n, 5_000_000_000n, 0n],
      // It is compared with what was charged as output.
      [TokenClass.TOKEN_CLASS_REASONING, undefined, 6_000_000_000n, 2000n],
    ]);
  });

  it('is compared with the price in force at the start, and names the published one that ends it', () => {
    const soon = examplePrice({ id: 'soon', effectiveFromMs: 20_000n });
    const late = examplePrice({ id: 'late', effectiveFromMs: 40_000n });
    const versions = [late, before, soon];
    const idsOf = (effectiveFromMs: bigint) => {
      const diff = priceDiff(model, examplePrice({ effectiveFromMs }), versions, nowMs);
      return [diff.before?.id, diff.later.map(({ id }) => id)];
    };
    expect(idsOf(0n)).toEqual(['before', ['soon', 'late']]);
    expect(idsOf(30_000n)).toEqual(['soon', ['late']]);
    expect(idsOf(50_000n)).toEqual(['late', []]);
  });

  it('distinguishes an unpriced model from a free one', () => {
    const free = {
      inputNanoUsdPerMtok: 0n,
      cacheReadNanoUsdPerMtok: 0n,
      cacheWrite5mNanoUsdPerMtok: 0n,
      cacheWrite1hNanoUsdPerMtok: 0n,
      outputNanoUsdPerMtok: 0n,
    };
    const unpriced = priceDiff(model, examplePrice(free), [], nowMs);
    expect(unpriced.before).toBeUndefined();
    expect(unpriced.changes[0]).toMatchObject({ beforeNanoUsdPerMtok: undefined, afterNanoUsdPerMtok: 0n, changeBasisPoints: undefined });
    expect(warningsOf(free, [])).toEqual([
      [Kind.KIND_FIRST_PRICE, 0],
      [Kind.KIND_FREE, 0],
    ]);
    const wasFree = priceDiff(model, examplePrice(), [examplePrice({ ...free, effectiveFromMs: 1n })], nowMs);
    expect(wasFree.changes[0]).toMatchObject({ beforeNanoUsdPerMtok: 0n, changeBasisPoints: undefined });
  });

  it('shows calls that the model can serve', () => {
    const names = (fields: Parameters<typeof exampleModel>[0]): string[] =>
      priceDiff(exampleModel(fields), before, [], nowMs).typicalCalls.map(({ name }) => name);
    expect(names({})).toEqual(['chat']);
    expect(
      names({ contextLimitTokens: 200_000, capabilities: [Capability.CAPABILITY_PROMPT_CACHE, Capability.CAPABILITY_REASONING] }),
    ).toEqual(['chat', 'long_input', 'cached_input', 'reasoning']);
    const [tiny] = priceDiff(exampleModel({ contextLimitTokens: 100, outputLimitTokens: 20 }), before, [], nowMs).typicalCalls;
    expect(tiny).toMatchObject({ name: 'chat', tokens: { inputTokens: 50, outputTokens: 20 } });
  });
});

describe('warnings about a draft', () => {
  it.each<[string, DeepPartial<PriceVersion>, [Kind, TokenClass][]]>([
    ['nothing to warn about', { inputNanoUsdPerMtok: 1_500_000_000n }, []],
    [
      'an increase by half is not a large change, a nano-dollar more is one',
      { inputNanoUsdPerMtok: 1_500_000_001n },
      [[Kind.KIND_LARGE_CHANGE, TokenClass.TOKEN_CLASS_INPUT]],
    ],
    ['a decrease by half is not a large change', { outputNanoUsdPerMtok: 2_500_000_000n }, []],
    ['a decrease by more than half', { outputNanoUsdPerMtok: 2_499_999_999n }, [[Kind.KIND_LARGE_CHANGE, TokenClass.TOKEN_CLASS_OUTPUT]]],
    [
      'a class at 0',
      { cacheReadNanoUsdPerMtok: 0n },
      [
        [Kind.KIND_ZERO, TokenClass.TOKEN_CLASS_CACHE_READ],
        [Kind.KIND_LARGE_CHANGE, TokenClass.TOKEN_CLASS_CACHE_READ],
      ],
    ],
    [
      'output cheaper than input',
      { inputNanoUsdPerMtok: 1_400_000_000n, outputNanoUsdPerMtok: 1_399_999_999n },
      [
        [Kind.KIND_OUTPUT_BELOW_INPUT, 0],
        [Kind.KIND_LARGE_CHANGE, TokenClass.TOKEN_CLASS_OUTPUT],
      ],
    ],
    ['no change', {}, [[Kind.KIND_NO_CHANGE, 0]]],
    ['reasoning priced separately, but as output was', { reasoningNanoUsdPerMtok: 5_000_000_000n }, [[Kind.KIND_NO_CHANGE, 0]]],
    ['a start that has passed', { inputNanoUsdPerMtok: 1_100_000_000n, effectiveFromMs: 9999n }, [[Kind.KIND_START_PASSED, 0]]],
  ])('%s', (_, draft, warnings) => {
    expect(warningsOf(draft)).toEqual(warnings);
  });

  it('report a first price, an increase from 0, and a later version that ends it', () => {
    expect(warningsOf({}, [])).toEqual([[Kind.KIND_FIRST_PRICE, 0]]);
    expect(warningsOf({}, [examplePrice({ effectiveFromMs: 1n, cacheReadNanoUsdPerMtok: 0n })])).toEqual([
      [Kind.KIND_LARGE_CHANGE, TokenClass.TOKEN_CLASS_CACHE_READ],
    ]);
    expect(warningsOf({ outputNanoUsdPerMtok: 6_000_000_000n }, [before, examplePrice({ effectiveFromMs: 20_000n })])).toEqual([
      [Kind.KIND_ENDED_BY_LATER, 0],
    ]);
  });
});
