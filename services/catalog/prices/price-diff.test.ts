import { describe, expect, it } from '@jest/globals';
import { Capability, type DeepPartial, type PriceVersion, PriceWarning_Kind as Kind } from '#proto/catalog/v1/catalog.js';
import { priceDiff } from './price-diff.js';
import { exampleModel, examplePrice } from '../testing/examples.js';

const nowMs = 10_000;
const before = examplePrice({ id: 'before', effectiveFromMs: 1000n });
const model = exampleModel();

const warningsOf = (draft: DeepPartial<PriceVersion>, versions = [before]): [Kind, string][] =>
  priceDiff(model, examplePrice(draft), versions, nowMs).warnings.map(({ kind, unit }) => [kind, unit]);

describe('what a draft would change', () => {
  it('is listed class by class, with the increase in hundredths of a percent', () => {
    const { changes } = priceDiff(
      model,
      examplePrice({ inputNanoUsdPerMtok: 1_100_000_000n, cacheReadNanoUsdPerMtok: 66_666_666n, reasoningNanoUsdPerMtok: 6_000_000_000n }),
      [before],
      nowMs,
    );
    expect(
      changes.map(({ unit, beforeNanoUsd, afterNanoUsd, changeBasisPoints }) => [unit, beforeNanoUsd, afterNanoUsd, changeBasisPoints]),
    ).toEqual([
      ['input', 1_000_000_000n, 1_100_000_000n, 1000n],
      ['cache_read', 100_000_000n, 66_666_666n, -3333n],
      ['cache_write_5m', 1_250_000_000n, 1_250_000_000n, 0n],
      ['cache_write_1h', 2_000_000_000n, 2_000_000_000n, 0n],
      ['output', 5_000_000_000n, 5_000_000_000n, 0n],
      // It is compared with what was charged as output.
      ['reasoning', undefined, 6_000_000_000n, 2000n],
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
    expect(unpriced.changes[0]).toMatchObject({ beforeNanoUsd: undefined, afterNanoUsd: 0n, changeBasisPoints: undefined });
    expect(warningsOf(free, [])).toEqual([
      [Kind.KIND_FIRST_PRICE, ''],
      [Kind.KIND_FREE, ''],
    ]);
    const wasFree = priceDiff(model, examplePrice(), [examplePrice({ ...free, effectiveFromMs: 1n })], nowMs);
    expect(wasFree.changes[0]).toMatchObject({ beforeNanoUsd: 0n, changeBasisPoints: undefined });
  });

  it('lists every unit of either price, with its cap, and calls that use one of each', () => {
    const unit = (name: string, nanoUsd: bigint, maxPerCall = 1) => ({ unit: name, nanoUsd, maxPerCall });
    const old = examplePrice({ id: 'old', effectiveFromMs: 1n, units: [unit('request', 100n), unit('web_search', 400n, 5)] });
    const draft = { units: [unit('web_search', 1000n, 3), unit('image', 0n, 2)] };
    const { changes, typicalCalls } = priceDiff(model, examplePrice(draft), [old], nowMs);
    expect(
      changes.slice(6).map(({ unit: name, beforeNanoUsd, beforeMaxPerCall, afterNanoUsd, afterMaxPerCall, changeBasisPoints, per }) => {
        return [name, per, beforeNanoUsd, beforeMaxPerCall, afterNanoUsd, afterMaxPerCall, changeBasisPoints];
      }),
    ).toEqual([
      ['web_search', 1, 400n, 5, 1000n, 3, 15_000n],
      ['image', 1, undefined, undefined, 0n, 2, undefined],
      ['request', 1, 100n, 1, undefined, undefined, undefined],
    ]);
    expect(warningsOf(draft, [old])).toEqual([
      [Kind.KIND_ZERO, 'image'],
      [Kind.KIND_LARGE_CHANGE, 'web_search'],
    ]);
    expect(warningsOf({ units: [unit('request', 100n), unit('web_search', 400n, 4)] }, [old])).toEqual([]);
    expect(warningsOf({ units: old.units.toReversed() }, [old])).toEqual([[Kind.KIND_NO_CHANGE, '']]);
    expect(typicalCalls[0]!.tokens!.units!.counts.map(({ unit: name, count }) => [name, count])).toEqual([
      ['web_search', 1],
      ['image', 1],
      ['request', 1],
    ]);
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
  it.each<[string, DeepPartial<PriceVersion>, [Kind, string][]]>([
    ['nothing to warn about', { inputNanoUsdPerMtok: 1_500_000_000n }, []],
    [
      'an increase by half is not a large change, a nano-dollar more is one',
      { inputNanoUsdPerMtok: 1_500_000_001n },
      [[Kind.KIND_LARGE_CHANGE, 'input']],
    ],
    ['a decrease by half is not a large change', { outputNanoUsdPerMtok: 2_500_000_000n }, []],
    ['a decrease by more than half', { outputNanoUsdPerMtok: 2_499_999_999n }, [[Kind.KIND_LARGE_CHANGE, 'output']]],
    [
      'a class at 0',
      { cacheReadNanoUsdPerMtok: 0n },
      [
        [Kind.KIND_ZERO, 'cache_read'],
        [Kind.KIND_LARGE_CHANGE, 'cache_read'],
      ],
    ],
    [
      'output cheaper than input',
      { inputNanoUsdPerMtok: 1_400_000_000n, outputNanoUsdPerMtok: 1_399_999_999n },
      [
        [Kind.KIND_OUTPUT_BELOW_INPUT, ''],
        [Kind.KIND_LARGE_CHANGE, 'output'],
      ],
    ],
    [
      'cached input more expensive than other input',
      { inputNanoUsdPerMtok: 500_000_000n, cacheReadNanoUsdPerMtok: 500_000_001n },
      [
        [Kind.KIND_CACHE_READ_ABOVE_INPUT, ''],
        [Kind.KIND_LARGE_CHANGE, 'cache_read'],
      ],
    ],
    ['no change', {}, [[Kind.KIND_NO_CHANGE, '']]],
    ['reasoning priced separately, but as output was', { reasoningNanoUsdPerMtok: 5_000_000_000n }, [[Kind.KIND_NO_CHANGE, '']]],
    ['a start that has passed', { inputNanoUsdPerMtok: 1_100_000_000n, effectiveFromMs: 9999n }, [[Kind.KIND_START_PASSED, '']]],
  ])('%s', (_, draft, warnings) => {
    expect(warningsOf(draft)).toEqual(warnings);
  });

  it('report a first price, an increase from 0, and a later version that ends it', () => {
    expect(warningsOf({}, [])).toEqual([[Kind.KIND_FIRST_PRICE, '']]);
    expect(warningsOf({}, [examplePrice({ effectiveFromMs: 1n, cacheReadNanoUsdPerMtok: 0n })])).toEqual([
      [Kind.KIND_LARGE_CHANGE, 'cache_read'],
    ]);
    expect(warningsOf({ outputNanoUsdPerMtok: 6_000_000_000n }, [before, examplePrice({ effectiveFromMs: 20_000n })])).toEqual([
      [Kind.KIND_ENDED_BY_LATER, ''],
    ]);
  });
});
