import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { AppError } from '#kit/errors/app-error.js';
import { affordableOutputTokens, explainRefusal, imageTokensMaxDefault, type Quote, quoteCall } from './quote.js';

const model = Model.fromPartial({ id: 'm', contextLimitTokens: 10_000, outputLimitTokens: 4000 });
const price = PriceVersion.fromPartial({
  inputNanoUsdPerMtok: 100_000_000n,
  cacheReadNanoUsdPerMtok: 10_000_000n,
  cacheWrite5mNanoUsdPerMtok: 125_000_000n,
  cacheWrite1hNanoUsdPerMtok: 200_000_000n,
  outputNanoUsdPerMtok: 400_000_000n,
});

/** The quote of one answer to a prompt of text. */
function quoteOf(forModel: Model, atPrice: PriceVersion, inputTokensMax: number, maxOutputTokens: number | undefined): Quote {
  return quoteCall(forModel, atPrice, {
    inputTokensMax,
    images: 0,
    documents: 0,
    choices: 1,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });
}

const lineNanoUsd = (tokens: number, perMtok: bigint): bigint => (BigInt(tokens) * perMtok + 999_999n) / 1_000_000n;

describe('a quote', () => {
  it('bounds every charge that its caps allow, however the input was cached', () => {
    const smallPrice = fc.bigInt({ min: 0n, max: 100_000_000_000n });
    fc.assert(
      fc.property(
        fc.record({
          input: smallPrice,
          read: smallPrice,
          write5m: smallPrice,
          write1h: smallPrice,
          output: smallPrice,
          reasoning: fc.option(smallPrice, { nil: undefined }),
        }),
        fc.tuple(fc.nat(2000), fc.nat(2000), fc.nat(2000), fc.nat(2000)),
        fc.nat(4000),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (prices, [a, b, c, d], output, reasoningShare) => {
          const version = PriceVersion.fromPartial({
            inputNanoUsdPerMtok: prices.input,
            cacheReadNanoUsdPerMtok: prices.read,
            cacheWrite5mNanoUsdPerMtok: prices.write5m,
            cacheWrite1hNanoUsdPerMtok: prices.write1h,
            outputNanoUsdPerMtok: prices.output,
            reasoningNanoUsdPerMtok: prices.reasoning,
          });
          const quote = quoteOf(model, version, a + b + c + d, output);
          const reasoning = Math.floor(output * reasoningShare);
          const charge =
            lineNanoUsd(a, prices.input) +
            lineNanoUsd(b, prices.read) +
            lineNanoUsd(c, prices.write5m) +
            lineNanoUsd(d, prices.write1h) +
            (prices.reasoning === undefined
              ? lineNanoUsd(output, prices.output)
              : lineNanoUsd(output - reasoning, prices.output) + lineNanoUsd(reasoning, prices.reasoning));
          return charge <= quote.amountNanoUsd;
        },
      ),
    );
  });

  it('is all or nothing when the caller gave a cap', () => {
    const quote = quoteOf(model, price, 100, 50);
    expect(quote.minAmountNanoUsd).toBe(quote.amountNanoUsd);
    expect(quote.outputCapTokens).toBe(50);
  });

  it('asks for the model’s limit but takes less when the caller gave no cap', () => {
    const quote = quoteOf(model, price, 100, undefined);
    expect(quote.outputCapTokens).toBe(4000);
    expect(quote.minAmountNanoUsd).toBeLessThan(quote.amountNanoUsd);
  });

  it('lowers a cap above the model’s limit to it, and input above the context to that', () => {
    expect(quoteOf(model, price, 100, 1_000_000).outputCapTokens).toBe(4000);
    expect(quoteOf(model, price, 1_000_000, 10).amountNanoUsd).toBe(quoteOf(model, price, 10_000, 10).amountNanoUsd);
  });
});

describe('a quote for more than text', () => {
  const demand = { inputTokensMax: 100, images: 0, documents: 0, choices: 1, maxOutputTokens: 50 };
  const large = Model.fromPartial({ ...model, contextLimitTokens: 100_000 });

  it('counts each image at what the catalog says it may have, or at the default', () => {
    expect(quoteCall(Model.fromPartial({ ...large, imageTokensMax: 1600 }), price, { ...demand, images: 3 }).inputTokensMax).toBe(
      100 + 3 * 1600,
    );
    expect(quoteCall(large, price, { ...demand, images: 2 }).inputTokensMax).toBe(100 + 2 * imageTokensMaxDefault);
    expect(quoteCall(model, price, { ...demand, images: 2 }).inputTokensMax).toBe(model.contextLimitTokens);
  });

  it('lets a document fill the context', () => {
    expect(quoteCall(large, price, { ...demand, documents: 1 })).toMatchObject({
      inputTokensMax: 100_000,
      inputNanoUsd: 100_000n * 200n + 5n,
    });
  });

  it('pays for every answer wanted, and gives each the same cap', () => {
    const one = quoteCall(model, price, demand);
    const three = quoteCall(model, price, { ...demand, choices: 3 });
    expect(three.amountNanoUsd - three.inputNanoUsd).toBe(3n * (one.amountNanoUsd - one.inputNanoUsd));
    expect(three.outputCapTokens).toBe(50);
    expect(affordableOutputTokens(three, three.inputNanoUsd + 3n * 10n * 400n)).toBe(10);
  });
});

describe('the affordable cap', () => {
  it('never costs more than what is held', () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.bigInt({ min: 0n, max: 10_000_000n }), (inputTokens, heldNanoUsd) => {
        const quote = quoteOf(model, price, inputTokens, undefined);
        const tokens = affordableOutputTokens(quote, heldNanoUsd);
        return tokens === 0 || quote.inputNanoUsd + lineNanoUsd(tokens, 400_000_000n) <= heldNanoUsd + 1n;
      }),
    );
  });

  it('is the whole cap when the whole amount is held, and no more when more is', () => {
    const quote = quoteOf(model, price, 100, 50);
    expect(affordableOutputTokens(quote, quote.amountNanoUsd)).toBe(50);
    expect(affordableOutputTokens(quote, quote.amountNanoUsd * 9n)).toBe(50);
  });
});

describe('a refusal', () => {
  it('says how many output tokens would be affordable', () => {
    const quote = quoteOf(model, price, 100, 4000);
    const refusal = new AppError('balance_empty', 'Too little.', { details: { available_nano_usd: '100000' } });
    const explained = explainRefusal(refusal, quote) as AppError;
    expect(explained.reason).toBe('balance_empty');
    expect(explained.details['affordable_output_tokens']).toBe(String(affordableOutputTokens(quote, 100_000n)));
    expect(explained.message).toContain('lower max_tokens');
  });

  it('stays as it is when it is not about money', () => {
    const error = new AppError('overloaded', 'Busy.');
    expect(explainRefusal(error, quoteOf(model, price, 1, 1))).toBe(error);
  });
});
