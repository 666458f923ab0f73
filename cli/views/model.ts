// The output of models and prices.
import {
  Capability,
  Modality,
  type Model,
  type ModelPause,
  ModelState,
  type PriceVersion,
  type Target,
  Tokenizer,
  type UnitPrice,
} from '#proto/catalog/v1/catalog.js';
import { requestUnit } from '#rules/money/pricing.js';
import { instant, instantJson, type JsonObject, usd, usdJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';

/** The words for the catalog's enums, as in model files. */
export const modelWords = {
  modality: wordsOf<Modality>(Modality, 'MODALITY_'),
  capability: wordsOf<Capability>(Capability, 'CAPABILITY_'),
  state: wordsOf<ModelState>(ModelState, 'MODEL_STATE_'),
  tokenizer: wordsOf<Tokenizer>(Tokenizer, 'TOKENIZER_'),
};

const unit = '_per_mtok';

function perMillion(nanoUsd: bigint | undefined): string {
  return nanoUsd === undefined ? '' : usd(nanoUsd);
}

/** Returns the price of a unit that is not a token: "web_search $0.01 (at most 5 per call)". */
export function unitPriceText({ unit, nanoUsd, maxPerCall }: UnitPrice): string {
  return `${unit} ${usd(nanoUsd)}${unit === requestUnit ? '' : ` (at most ${maxPerCall} per call)`}`;
}

/** A price version; every figure is USD per million tokens, those of units for one. */
export const priceView: View<PriceVersion> = {
  json: (price) => ({
    id: price.id,
    model_id: price.modelId,
    effective_from: instantJson(price.effectiveFromMs),
    ...usdJson('input', price.inputNanoUsdPerMtok, unit),
    ...usdJson('cache_read', price.cacheReadNanoUsdPerMtok, unit),
    ...usdJson('cache_write_5m', price.cacheWrite5mNanoUsdPerMtok, unit),
    ...usdJson('cache_write_1h', price.cacheWrite1hNanoUsdPerMtok, unit),
    ...usdJson('output', price.outputNanoUsdPerMtok, unit),
    ...usdJson('reasoning', price.reasoningNanoUsdPerMtok, unit),
    units: price.units.map(({ unit, nanoUsd, maxPerCall }) => ({ unit, ...usdJson('price', nanoUsd), max_per_call: maxPerCall })),
    created_at: instantJson(price.createdAtMs),
  }),
  columns: [
    { title: 'from', text: (price) => instant(price.effectiveFromMs) },
    { title: 'input', text: (price) => perMillion(price.inputNanoUsdPerMtok), align: 'right' },
    { title: 'cache read', text: (price) => perMillion(price.cacheReadNanoUsdPerMtok), align: 'right' },
    { title: 'write 5m', text: (price) => perMillion(price.cacheWrite5mNanoUsdPerMtok), align: 'right' },
    { title: 'write 1h', text: (price) => perMillion(price.cacheWrite1hNanoUsdPerMtok), align: 'right' },
    { title: 'output', text: (price) => perMillion(price.outputNanoUsdPerMtok), align: 'right' },
    { title: 'reasoning', text: (price) => perMillion(price.reasoningNanoUsdPerMtok) || 'as output', align: 'right' },
    { title: 'units', text: (price) => price.units.map(unitPriceText).join(', ') },
    { title: 'price', text: (price) => price.id },
  ],
};

function untilOf({ untilMs }: ModelPause): string | null {
  return untilMs === 0n ? null : instantJson(untilMs);
}

function pauseText({ untilMs, reason }: ModelPause): string {
  const until = untilMs === 0n ? 'resumed' : instant(untilMs);
  return `until ${until}${reason === '' ? '' : `: ${reason}`}`;
}

function modelJson(model: Model): JsonObject {
  return {
    id: model.id,
    display_name: model.displayName,
    description: model.description,
    provider: model.provider,
    context_limit_tokens: model.contextLimitTokens,
    output_limit_tokens: model.outputLimitTokens,
    input_modalities: model.inputModalities.map(modelWords.modality.of),
    output_modalities: model.outputModalities.map(modelWords.modality.of),
    capabilities: model.capabilities.map(modelWords.capability.of),
    targets: model.targets.map((target) => ({
      upstream_id: target.upstreamId,
      upstream_model: target.upstreamModel,
      ...(target.priority === undefined ? {} : { priority: target.priority }),
      ...(target.weight === undefined ? {} : { weight: target.weight }),
    })),
    image_tokens_max: model.imageTokensMax,
    prefix_affinity: model.prefixAffinity ?? true,
    hedge_after_ms: model.hedgeAfterMs ?? null,
    tokenizer: modelWords.tokenizer.of(model.tokenizer),
    state: modelWords.state.of(model.state),
    aliases: model.aliases,
    paused: model.pause === undefined ? null : { until: untilOf(model.pause), reason: model.pause.reason },
    price: model.price === undefined ? null : priceView.json(model.price),
    created_at: instantJson(model.createdAtMs),
  };
}

/** A model. `model put` accepts its JSON output. */
export const modelView: View<Model> = {
  json: modelJson,
  columns: [
    { title: 'model', text: (model) => model.id },
    { title: 'state', text: (model) => (model.pause === undefined ? modelWords.state.of(model.state) : 'paused') },
    { title: 'input/M', text: (model) => perMillion(model.price?.inputNanoUsdPerMtok) || 'unpriced', align: 'right' },
    { title: 'output/M', text: (model) => perMillion(model.price?.outputNanoUsdPerMtok) || 'unpriced', align: 'right' },
    { title: 'context', text: (model) => model.contextLimitTokens.toString(), align: 'right' },
    { title: 'max output', text: (model) => model.outputLimitTokens.toString(), align: 'right' },
    { title: 'upstreams', text: (model) => model.targets.map((target) => target.upstreamId).join(',') || 'none' },
  ],
  details: [
    { title: 'model', text: (model) => model.id },
    { title: 'name', text: (model) => model.displayName },
    { title: 'description', text: (model) => model.description },
    { title: 'provider', text: (model) => model.provider },
    { title: 'state', text: (model) => modelWords.state.of(model.state) },
    { title: 'paused', text: ({ pause }) => (pause === undefined ? '' : pauseText(pause)) },
    { title: 'aliases', text: (model) => model.aliases.join(', ') },
    { title: 'context', text: (model) => `${model.contextLimitTokens} tokens` },
    { title: 'max output', text: (model) => `${model.outputLimitTokens} tokens` },
    { title: 'input modalities', text: (model) => model.inputModalities.map(modelWords.modality.of).join(', ') },
    { title: 'image', text: (model) => (model.imageTokensMax === 0 ? '' : `at most ${model.imageTokensMax} tokens`) },
    { title: 'output modalities', text: (model) => model.outputModalities.map(modelWords.modality.of).join(', ') },
    { title: 'capabilities', text: (model) => model.capabilities.map(modelWords.capability.of).join(', ') },
    { title: 'tokenizer', text: (model) => modelWords.tokenizer.of(model.tokenizer) },
    {
      title: 'targets',
      text: (model) => model.targets.map(targetText).join(', ') || 'none',
    },
    { title: 'hedge', text: (model) => (model.hedgeAfterMs === undefined ? 'off' : `after ${model.hedgeAfterMs} ms`) },
    { title: 'prefix affinity', text: (model) => (model.prefixAffinity === false ? 'off' : 'on') },
    {
      title: 'input',
      text: (model) =>
        model.price === undefined ? 'unpriced, so calls are rejected' : `${usd(model.price.inputNanoUsdPerMtok)} per million tokens`,
    },
    { title: 'output', text: (model) => (model.price === undefined ? '' : `${usd(model.price.outputNanoUsdPerMtok)} per million tokens`) },
    { title: 'units', text: (model) => model.price?.units.map(unitPriceText).join(', ') ?? '' },
    { title: 'price', text: (model) => model.price?.id ?? '' },
  ],
};

/** Returns for example "acme:small-1" or "acme:small-1 (priority 0, weight 3)". */
function targetText({ upstreamId, upstreamModel, priority, weight }: Target): string {
  const own = [...(priority === undefined ? [] : [`priority ${priority}`]), ...(weight === undefined ? [] : [`weight ${weight}`])];
  return `${upstreamId}:${upstreamModel}${own.length === 0 ? '' : ` (${own.join(', ')})`}`;
}
