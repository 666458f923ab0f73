// What the gateway holds for a call is never less than what metering charges for it, whatever the price, the prompt and the usage.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { unitPriceNanoUsdMax } from '#rules/money/pricing.js';
import { capOfAll } from '../../gateway/call/metered-call.js';
import { affordableOutputTokens, imageTokensMaxDefault, quoteCall } from '../../gateway/call/admission/quote.js';
import { call } from '../../services/metering/testing/calls.js';
import { priceRecord } from '../../services/metering/records/usage-record.js';
import { validateCall } from '../../services/metering/requests/validate-call.js';
import { Outcome, UsageSource } from '#proto/metering/v1/metering.js';

// Rounding matters most for free classes and the smallest prices.
const unitPrice = fc.oneof(
  fc.constantFrom(0n, 0n, 1n, 1_000_000n, unitPriceNanoUsdMax),
  fc.bigInt({ min: 0n, max: 2_000_000n }),
  fc.bigInt({ min: 0n, max: 100_000_000_000n }),
);
const prices = fc.record({
  inputNanoUsdPerMtok: unitPrice,
  cacheReadNanoUsdPerMtok: unitPrice,
  cacheWrite5mNanoUsdPerMtok: unitPrice,
  cacheWrite1hNanoUsdPerMtok: unitPrice,
  outputNanoUsdPerMtok: unitPrice,
  reasoningNanoUsdPerMtok: fc.option(unitPrice, { nil: undefined }),
});
const models = fc.record({
  contextLimitTokens: fc.integer({ min: 1, max: 2_000_000 }),
  outputLimitTokens: fc.integer({ min: 1, max: 200_000 }),
  imageTokensMax: fc.constantFrom(0, 1, 1600),
});
const demands = fc.record(
  {
    inputTokensMax: fc.oneof(fc.nat(3), fc.nat(100_000)),
    images: fc.nat(3),
    documents: fc.nat(1),
    choices: fc.integer({ min: 1, max: 8 }),
    maxOutputTokens: fc.integer({ min: 1, max: 300_000 }),
  },
  { requiredKeys: ['inputTokensMax', 'images', 'documents', 'choices'] },
);
const share = fc.double({ min: 0, max: 1, noNaN: true });
const shares = fc.record({ input: share, read: share, write5m: share, write1h: share, output: share, reasoning: share, held: share });

describe('a hold', () => {
  it('covers the charge for any usage within its caps', () => {
    fc.assert(
      fc.property(prices, models, demands, shares, (unitPrices, limits, demand, parts) => {
        const model = Model.fromPartial({ id: 'm', ...limits });
        const price = PriceVersion.fromPartial({ ...call().price, ...unitPrices });
        const quote = quoteCall(model, price, demand as Parameters<typeof quoteCall>[2]);
        // The ledger holds what the balance affords, from the minimum to the full amount.
        const spread = quote.amountNanoUsd - quote.minAmountNanoUsd;
        const heldNanoUsd = quote.minAmountNanoUsd + (spread * BigInt(Math.floor(parts.held * 1000))) / 1000n;
        const capTokens = affordableOutputTokens(quote, heldNanoUsd);
        expect(capTokens).toBeGreaterThan(0);

        // What the upstream may report: input up to the bound, in any split; output up to the cap, any part of it reasoning.
        const take = (left: number, part: number): number => Math.floor(left * part);
        let left = quote.inputTokensMax;
        const inputs = [parts.read, parts.write5m, parts.write1h].map((part) => {
          const count = take(left, part);
          left -= count;
          return count;
        });
        const outputCapTokens = capOfAll(capTokens, demand.choices);
        const outputTokens = Math.round(outputCapTokens * parts.output);
        const tokens = TokenCounts.fromPartial({
          inputTokens: Math.round(left * parts.input),
          cacheReadTokens: inputs[0]!,
          cacheWrite5mTokens: inputs[1]!,
          cacheWrite1hTokens: inputs[2]!,
          outputTokens,
          reasoningTokens: Math.round(outputTokens * parts.reasoning),
        });
        const { record } = priceRecord(
          {
            call: validateCall({ ...call(), price, heldNanoUsd, outputCapTokens }),
            tokens,
            source: UsageSource.USAGE_SOURCE_REPORTED,
            outcome: Outcome.OUTCOME_COMPLETED,
            outcomeDetail: '',
            firstOutputMs: undefined,
            durationMs: 1,
            free: false,
            quarantined: false,
            storedAnswer: Buffer.alloc(0),
          },
          1,
        );
        expect(record.quarantined).toBe(false);
        expect(record.chargeNanoUsd <= heldNanoUsd).toBe(true);
      }),
    );
  });

  it('counts an image and a document at the most tokens that a vendor counts for them', () => {
    const model = Model.fromPartial({ id: 'm', contextLimitTokens: 1_000_000, outputLimitTokens: 1 });
    const price = PriceVersion.fromPartial({ inputNanoUsdPerMtok: 1_000_000n });
    const held = (demand: object): bigint =>
      quoteCall(model, price, { inputTokensMax: 10, images: 0, documents: 0, choices: 1, ...demand }).amountNanoUsd;
    expect(held({ images: 2 })).toBe(10n + 2n * BigInt(imageTokensMaxDefault));
    expect(held({ documents: 1 })).toBe(1_000_000n);
  });
});
