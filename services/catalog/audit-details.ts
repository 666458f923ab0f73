// The details of audit events about models and prices. Pure.
import { enumWord } from '#kit/enum-word.js';
import { Capability, Modality, type Model, ModelState, type PriceVersion, Tokenizer } from '#proto/catalog/v1/catalog.js';
import { formatUsd } from '#rules/money/money.js';

const wordOf =
  (names: Readonly<Record<number, string>>, prefix: string) =>
  (value: number): string =>
    enumWord(names[value], prefix);
const modality = wordOf(Modality, 'MODALITY_');
const capability = wordOf(Capability, 'CAPABILITY_');
const state = wordOf(ModelState, 'MODEL_STATE_');
const tokenizer = wordOf(Tokenizer, 'TOKENIZER_');

/** Returns the fields of a model that an operator can change. */
export function modelDetail(model: Model): object {
  return {
    display_name: model.displayName,
    description: model.description,
    provider: model.provider,
    context_limit_tokens: model.contextLimitTokens,
    output_limit_tokens: model.outputLimitTokens,
    input_modalities: model.inputModalities.map(modality),
    output_modalities: model.outputModalities.map(modality),
    capabilities: model.capabilities.map(capability),
    targets: model.targets.map(({ upstreamId, upstreamModel, priority, weight }) => ({
      upstream_id: upstreamId,
      upstream_model: upstreamModel,
      priority,
      weight,
    })),
    tokenizer: tokenizer(model.tokenizer),
    state: state(model.state),
    image_tokens_max: model.imageTokensMax,
    prefix_affinity: model.prefixAffinity ?? true,
    hedge_after_ms: model.hedgeAfterMs,
    aliases: model.aliases,
  };
}

/** Returns the amounts of a price as decimal USD, and when it takes effect (null: when it is published). */
export function priceDetail(price: PriceVersion): object {
  const { effectiveFromMs, reasoningNanoUsdPerMtok: reasoning } = price;
  return {
    effective_from: effectiveFromMs === 0n ? null : new Date(Number(effectiveFromMs)).toISOString(),
    usd_per_million_tokens: {
      input: formatUsd(price.inputNanoUsdPerMtok),
      cache_read: formatUsd(price.cacheReadNanoUsdPerMtok),
      cache_write_5m: formatUsd(price.cacheWrite5mNanoUsdPerMtok),
      cache_write_1h: formatUsd(price.cacheWrite1hNanoUsdPerMtok),
      output: formatUsd(price.outputNanoUsdPerMtok),
      reasoning: reasoning === undefined ? null : formatUsd(reasoning),
    },
    ...(price.units.length === 0
      ? {}
      : { units: price.units.map(({ unit, nanoUsd, maxPerCall }) => ({ unit, usd: formatUsd(nanoUsd), max_per_call: maxPerCall })) }),
  };
}
