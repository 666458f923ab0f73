import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { AppError } from '#kit/errors/app-error.js';
import { affordableOutputTokens, explainRefusal, quoteCall } from './quote.js';

const model = Model.fromPartial({ id: 'm', contextLimitTokens: 10_000, outputLimitTokens: 4000 });
const price = PriceVersion.fromPartial({
  inputNanoUsdPerMtok: 100_000_000n,
  cacheReadNanoUsdPerMtok: 10_000_000n,
  cacheWrite5mNanoUsdPerMtok: 125_000_000n,
  cacheWrite1hNanoUsdPerMtok: 200_000_000n,
  outputNanoUsdPerMtok: 400_000_000n,
});

const lineNanoUsd = (tokens: number, perMtok: bigint): bigint => (BigInt(tokens) * perMtok + 999_999n) / 1_000_000n;

describe('a quote', () => {
  it('bounds every charge that its caps allow, however the input was cached', () => {
    const smallPrice = fc.bigInt({ min: 0n, max: 100_000_000_000n });
    fc.assert(
      fc.property(
        fc.record({ input: smallPrice, read: smallPrice, write5m: smallPrice, write1h: smallPrice, output: smallPrice, reasoning: fc.option(smallPrice, { nil: undefined }) }),
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
          const quote = quoteCall(model, version, a + b + c + d, output);
          const reasoning = Math.floor(output * reasoningShare);
          const charge =
            lineNanoUsd(a, prices.input) +
            lineNanoUsd(b, prices.read) +
            lineNanoUsd(c, prices.write5m) +
            lineNanoUsd(d, prices.write1h) +
            (prices.reasoning === undefined ? lineNanoUsd(output, prices.output) : lineNanoUsd(output - reasoning, prices.output) + lineNanoUsd(reasoning, prices.reasoning));
          return charge <= quote.amountNanoUsd;
        },
      ),
    );
  });

  it('is all or nothing when the caller gave a cap', () => {
    const quote = quoteCall(model, price, 100, 50);
    expect(quote.minAmountNanoUsd).toBe(quote.amountNanoUsd);
    expect(quote.outputCapTokens).toBe(50);
  });

  it('asks for the model’s limit but takes less when the caller gave no cap', () => {
    const quote = quoteCall(model, price, 100, undefined);
    expect(quote.outputCapTokens).toBe(4000);
    expect(quote.minAmountNanoUsd).toBeLessThan(quote.amountNanoUsd);
  });

  it('lowers a cap above the model’s limit to it, and input above the context to that', () => {
    expect(quoteCall(model, price, 100, 1_000_000).outputCapTokens).toBe(4000);
    expect(quoteCall(model, price, 1_000_000, 10).amountNanoUsd).toBe(quoteCall(model, price, 10_000, 10).amountNanoUsd);
  });
});

describe('the affordable cap', () => {
  it('never costs more than what is held', () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.bigInt({ min: 0n, max: 10_000_000n }), (inputTokens, heldNanoUsd) => {
        const quote = quoteCall(model, price, inputTokens, undefined);
        const tokens = affordableOutputTokens(quote, heldNanoUsd);
        return tokens === 0 || quote.inputNanoUsd + lineNanoUsd(tokens, 400_000_000n) <= heldNanoUsd + 1n;
      }),
    );
  });

  it('is the whole cap when the whole amount is held, and no more when more is', () => {
    const quote = quoteCall(model, price, 100, 50);
    expect(affordableOutputTokens(quote, quote.amountNanoUsd)).toBe(50);
    expect(affordableOutputTokens(quote, quote.amountNanoUsd * 9n)).toBe(50);
  });
});

describe('a refusal', () => {
  it('says how many output tokens would be affordable', () => {
    const quote = quoteCall(model, price, 100, 4000);
    const refusal = new AppError('balance_empty', 'Too little.', { details: { available_nano_usd: '100000' } });
    const explained = explainRefusal(refusal, quote) as AppError;
    expect(explained.reason).toBe('balance_empty');
    expect(explained.details['affordable_output_tokens']).toBe(String(affordableOutputTokens(quote, 100_000n)));
    expect(explained.message).toContain('lower max_tokens');
  });

  it('stays as it is when it is not about money', () => {
    const error = new AppError('overloaded', 'Busy.');
    expect(explainRefusal(error, quoteCall(model, price, 1, 1))).toBe(error);
  });
});
