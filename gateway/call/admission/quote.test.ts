import { describe, expect, it } from '@jest/globals';
import { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { AppError } from '#client/errors/app-error.js';
import { affordableOutputTokens, explainRefusal, imageTokensMaxDefault, quoteCall, type Quote, unitCapsOf } from './quote.js';

const model = Model.fromPartial({ id: 'm', contextLimitTokens: 10_000, outputLimitTokens: 4000 });
const price = PriceVersion.fromPartial({
  inputNanoUsdPerMtok: 100_000_000n,
  cacheReadNanoUsdPerMtok: 10_000_000n,
  cacheWrite5mNanoUsdPerMtok: 125_000_000n,
  cacheWrite1hNanoUsdPerMtok: 200_000_000n,
  outputNanoUsdPerMtok: 400_000_000n,
});

/** Returns the quote for one answer to a text prompt. */
function quoteOf(forModel: Model, atPrice: PriceVersion, inputTokensMax: number, maxOutputTokens: number | undefined): Quote {
  return quoteCall(forModel, atPrice, {
    inputTokensMax,
    images: 0,
    documents: 0,
    choices: 1,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });
}

describe('a quote', () => {
  it('is all or nothing when the caller gave a cap', () => {
    const quote = quoteOf(model, price, 100, 3000);
    expect(quote.minAmountNanoUsd).toBe(quote.amountNanoUsd);
    expect(quote.outputCapTokens).toBe(3000);
  });

  it('requests the model’s limit but accepts less when the caller gave no cap', () => {
    const quote = quoteOf(model, price, 100, undefined);
    expect(quote.outputCapTokens).toBe(4000);
    expect(quote.minAmountNanoUsd).toBeLessThan(quote.amountNanoUsd);
  });

  it('holds nothing for a model that is free', () => {
    const quote = quoteOf(model, PriceVersion.fromPartial({}), 100, 50);
    expect(quote).toMatchObject({ amountNanoUsd: 0n, minAmountNanoUsd: 0n });
    expect(affordableOutputTokens(quote, 0n)).toBe(50);
  });

  it('lowers a cap to the model’s limit, and the input to the context', () => {
    expect(quoteOf(model, price, 100, 1_000_000).outputCapTokens).toBe(4000);
    expect(quoteOf(model, price, 1_000_000, 10).amountNanoUsd).toBe(quoteOf(model, price, 10_000, 10).amountNanoUsd);
  });
});

describe('a quote for more than text', () => {
  const demand = { inputTokensMax: 100, images: 0, documents: 0, choices: 1, maxOutputTokens: 50 };
  const large = Model.fromPartial({ ...model, contextLimitTokens: 100_000 });

  it('counts each image at the maximum in the catalog, or at the default', () => {
    expect(quoteCall(Model.fromPartial({ ...large, imageTokensMax: 1600 }), price, { ...demand, images: 3 }).inputTokensMax).toBe(
      100 + 3 * 1600,
    );
    expect(quoteCall(large, price, { ...demand, images: 2 }).inputTokensMax).toBe(100 + 2 * imageTokensMaxDefault);
    expect(quoteCall(model, price, { ...demand, images: 2 }).inputTokensMax).toBe(model.contextLimitTokens);
  });

  it('lets a document fill the context', () => {
    expect(quoteCall(large, price, { ...demand, documents: 1 })).toMatchObject({
      inputTokensMax: 100_000,
      bound: { fixedNanoUsd: 100_000n * 200n + 3n },
    });
  });

  it('covers as many uses of a vendor’s tool as the call and the price allow, and what it may find', () => {
    const units = [{ unit: 'web_search', nanoUsd: 10_000_000n, maxPerCall: 5 }];
    const priced = PriceVersion.fromPartial({ ...price, units });
    const tool = (maxUses?: number, unit = 'web_search') => ({ field: 'tools.0.type', type: 'web_search_20250305', unit, maxUses });
    const capOf = (...tools: ReturnType<typeof tool>[]): number | undefined => unitCapsOf(tools, priced)?.counts[0]?.count;
    expect([capOf(tool(2)), capOf(tool(9)), capOf(tool()), capOf(tool(2), tool(2))]).toEqual([2, 5, 5, 4]);
    expect([capOf(), capOf(tool(2, ''))]).toEqual([undefined, undefined]);
    const plain = quoteCall(large, priced, { ...demand, documents: 1 });
    const searching = quoteCall(large, priced, { ...demand, unitCaps: unitCapsOf([tool(2)], priced) });
    expect(searching.inputTokensMax).toBe(large.contextLimitTokens);
    expect(searching.amountNanoUsd - plain.amountNanoUsd).toBe(20_000_000n);
  });

  it('covers every requested answer, and gives each the same cap', () => {
    const one = quoteCall(model, price, demand);
    const three = quoteCall(model, price, { ...demand, choices: 3 });
    expect(three.amountNanoUsd - three.bound.fixedNanoUsd).toBe(3n * (one.amountNanoUsd - one.bound.fixedNanoUsd));
    expect(three.outputCapTokens).toBe(50);
    expect(affordableOutputTokens(three, three.bound.fixedNanoUsd + 3n * 10n * 400n)).toBe(10);
  });
});

describe('the affordable cap', () => {
  it('is the whole cap when the whole amount or more is held', () => {
    const quote = quoteOf(model, price, 100, 50);
    expect(affordableOutputTokens(quote, quote.amountNanoUsd)).toBe(50);
    expect(affordableOutputTokens(quote, quote.amountNanoUsd * 9n)).toBe(50);
  });
});

describe('the error of a refused hold', () => {
  it('contains how many output tokens would be affordable', () => {
    const quote = quoteOf(model, price, 100, 4000);
    const refusal = new AppError('balance_empty', 'Too little.', { details: { available_nano_usd: '100000' } });
    const explained = explainRefusal(refusal, quote) as AppError;
    expect(explained.reason).toBe('balance_empty');
    expect(explained.details['affordable_output_tokens']).toBe(String(affordableOutputTokens(quote, 100_000n)));
    expect(explained.message).toContain('lower max_tokens');
  });

  it('is unchanged when it is not about money', () => {
    const error = new AppError('overloaded', 'Busy.');
    expect(explainRefusal(error, quoteOf(model, price, 1, 1))).toBe(error);
  });
});
