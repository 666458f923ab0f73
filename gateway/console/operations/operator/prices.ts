// Prices of models, for operators: draft, compare, publish.
import { futureMs } from '../../instants.js';
import { type PriceDiff, type PriceDraft, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { unitCostNanoUsdMax, unitPriceNanoUsdMax } from '#rules/money/pricing.js';
import type { OperationDeps } from '../../deps.js';
import { type CallCost, renderDiff, renderDraft, renderPrice } from '../../render/catalog.js';
import { nanoUsdOf } from '../../render/values.js';
import { ComparedDraft, DiscardDraft, DraftList, Price, PublishDraft, PutDraft } from '../../schemas/operator/catalog.js';
import { type Area, type Call, created, done, ok, operation } from '../../table/operation.js';

type Rpc = Pick<Call, 'context'>;

export const prices: Area = {
  title: 'Operators: prices',
  description: 'A price is drafted, compared with the current one, and published.',
  operations: [
    operation('GET', '/operator/price-drafts', {
      summary: 'List the drafts. The list is not paginated.',
      who: 'operator',
      answers: [ok(DraftList)],
      handle: async ({ context }, { peers }) => {
        const { drafts } = await peers.catalog.listPriceDrafts({}, context());
        return { data: drafts.map(renderDraft), next: null };
      },
    }),
    operation('GET', '/operator/price-drafts/{model}', {
      summary: 'Show a draft and what publishing it would change.',
      who: 'operator',
      answers: [ok(ComparedDraft)],
      handle: (call, deps) => draftWithDiff(call.params.model, call, deps),
    }),
    operation('PUT', '/operator/price-drafts/{model}', {
      summary: 'Save a draft; it takes effect only when it is published.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: PutDraft,
      answers: [ok(ComparedDraft)],
      errors: { failed_precondition: 'The draft is not the one that `replaces_version` names.' },
      handle: async (call, deps) => {
        const { body, params, visitor, context } = call;
        const { usd_per_million_tokens: usd, unit_prices, effective_from, replaces_version } = body;
        const figure = (name: keyof typeof usd): bigint => nanoUsdOf(`usd_per_million_tokens.${name}`, usd[name]!, unitPriceNanoUsdMax);
        const price = PriceVersion.fromPartial({
          modelId: params.model,
          effectiveFromMs: effective_from == null ? 0n : futureMs('effective_from', effective_from, deps.clock.nowMs(), 'future_start'),
          inputNanoUsdPerMtok: figure('input'),
          cacheReadNanoUsdPerMtok: figure('cache_read'),
          cacheWrite5mNanoUsdPerMtok: figure('cache_write_5m'),
          cacheWrite1hNanoUsdPerMtok: figure('cache_write_1h'),
          outputNanoUsdPerMtok: figure('output'),
          ...(usd.reasoning == null ? {} : { reasoningNanoUsdPerMtok: figure('reasoning') }),
          units: (unit_prices ?? []).map(({ unit, usd: each, max_per_call }, index) => ({
            unit,
            nanoUsd: nanoUsdOf(`unit_prices[${index}].usd`, each, unitCostNanoUsdMax),
            maxPerCall: max_per_call,
          })),
        });
        const author = visitor.user.email;
        const { draft, diff } = await deps.peers.catalog.putPriceDraft(
          { price, author, ...(replaces_version == null ? {} : { replacesVersion: BigInt(replaces_version) }) },
          context(),
        );
        return compared(draft!, diff!, call, deps);
      },
    }),
    operation('DELETE', '/operator/price-drafts/{model}', {
      summary: 'Discard a draft.',
      who: 'operator',
      query: DiscardDraft,
      answers: [done()],
      errors: { failed_precondition: 'The draft has changed.' },
      handle: async ({ params: { model: modelId }, query: { version }, context }, deps) => {
        const request = { modelId, ...(version === undefined ? {} : { version: BigInt(version) }) };
        await deps.peers.catalog.deletePriceDraft(request, context());
      },
    }),
    operation('POST', '/operator/prices/{model}', {
      summary: 'Publish the draft that was compared with the current price; a repeat returns the first answer.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: PublishDraft,
      answers: [created(Price)],
      errors: { failed_precondition: 'The draft or the price that it replaces has changed.' },
      handle: async ({ body, params, context }, deps) => {
        const { draft_version, before_price_id } = body;
        const request = { modelId: params.model, version: BigInt(draft_version), beforePriceId: before_price_id ?? '' };
        const { price } = await deps.peers.catalog.publishPriceDraft(request, context());
        return renderPrice(price!);
      },
    }),
  ],
};

/** Returns the draft of a model and its difference. Raises model_unknown and not_found. */
export async function draftWithDiff(modelId: string, call: Rpc, deps: OperationDeps): Promise<ComparedDraft> {
  const { draft, diff } = await deps.peers.catalog.getPriceDraft({ modelId }, call.context());
  return compared(draft!, diff!, call, deps);
}

async function compared(draft: PriceDraft, diff: PriceDiff, { context }: Rpc, { peers }: OperationDeps): Promise<ComparedDraft> {
  const tokens = diff.typicalCalls.map((call) => call.tokens!);
  const both = diff.before === undefined ? [draft.price!] : [draft.price!, diff.before];
  // Metering estimates with the function that charges calls, so that the estimate equals the charge.
  const { estimates } = await peers.metering.estimateCharges({ prices: both, tokens }, context());
  const costs = tokens.map((_, index): CallCost => ({
    after: estimates[index]!.chargeNanoUsd,
    before: estimates[tokens.length + index]?.chargeNanoUsd,
  }));
  return { ...renderDraft(draft), diff: renderDiff(diff, costs) };
}
