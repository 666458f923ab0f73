// Models, prices and drafts as JSON, for operators. Amounts are decimal-string USD. Pure.
import { formatUsd } from '#rules/money/money.js';
import { pauseAt } from '#rules/upstreams/model-pause.js';
import { priceList } from '#rules/money/pricing.js';
import {
  type Model,
  ModelState,
  type PriceChange,
  type PriceDiff,
  type PriceDraft,
  type PriceVersion,
  type Target,
} from '#proto/catalog/v1/catalog.js';
import type { Upstream } from '#proto/inference/v1/inference.js';
import { renderPause, renderTokenPrices, renderUnitPrices } from '../../formats/models.js';
import { renderTokens, renderUnits } from '../../render/usage.js';
import type {
  Change,
  DatedPrice,
  Draft,
  Figures,
  ModelFields,
  OperatorModel,
  Price,
  PriceDifference,
} from '../schemas/operator/catalog.js';
import { instant, maybe, orNull } from './values.js';
import { words } from './words.js';

/** Renders the figures of a version or a draft. Null for reasoning: charged as output. */
export function renderFigures(price: PriceVersion): Figures {
  return { ...renderTokenPrices(price), reasoning: maybe(price.reasoningNanoUsdPerMtok, formatUsd) };
}

/** Renders a price version. */
export function renderPrice(price: PriceVersion): Price {
  return {
    id: price.id,
    effective_from: instant(price.effectiveFromMs),
    usd_per_million_tokens: renderFigures(price),
    unit_prices: renderUnitPrices(price),
    created_at: instant(price.createdAtMs),
  };
}

/** Renders all price versions of a model with their states, latest start first. */
export function renderHistory(prices: readonly PriceVersion[], nowMs: number): DatedPrice[] {
  const inForce = prices.findIndex(({ effectiveFromMs }) => effectiveFromMs <= BigInt(nowMs));
  return prices.map((price, index) => ({
    ...renderPrice(price),
    state: index === inForce ? 'in_force' : index < inForce || inForce === -1 ? 'scheduled' : 'past',
    effective_until: maybe(prices[index - 1], (next) => instant(next.effectiveFromMs)),
  }));
}

/** Holds what a model in a list is rendered with. */
export interface Surroundings {
  /** Upstreams by id. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** Prices that start in the future, earliest first. */
  readonly scheduled: readonly PriceVersion[];
  /** The instant for which pauses are shown. */
  readonly nowMs: number;
  readonly draft: PriceDraft | undefined;
}

/** Renders the fields of a model that an operator sets, in the format of `tollgate model put`. */
export function renderModelFields(model: Model): Required<ModelFields> & { id: string } {
  return {
    id: model.id,
    display_name: model.displayName,
    description: model.description,
    provider: model.provider,
    context_limit_tokens: model.contextLimitTokens,
    output_limit_tokens: model.outputLimitTokens,
    input_modalities: model.inputModalities.map(words.modality.of),
    output_modalities: model.outputModalities.map(words.modality.of),
    capabilities: model.capabilities.map(words.capability.of),
    targets: model.targets.map(renderTarget),
    tokenizer: words.tokenizer.of(model.tokenizer),
    state: words.modelState.of(model.state),
    image_tokens_max: model.imageTokensMax,
    prefix_affinity: model.prefixAffinity ?? true,
    hedge_after_ms: model.hedgeAfterMs ?? null,
    aliases: model.aliases,
  };
}

/** Renders a model with its price, and whether its calls are served or why not. */
export function renderOperatorModel(model: Model, { upstreams, scheduled, draft, nowMs }: Surroundings): OperatorModel {
  const targets = model.targets.map((target) => ({
    ...renderTarget(target),
    state: targetState(upstreams.get(target.upstreamId)),
  }));
  const pause = pauseAt(model, nowMs);
  const next = scheduled.find(({ modelId }) => modelId === model.id);
  const reason = whyNotServed(
    model,
    targets.some(({ state }) => state === 'ok'),
    pause !== undefined,
  );
  return {
    ...renderModelFields(model),
    targets,
    pricing: model.price === undefined ? 'unpriced' : isFree(model.price) ? 'free' : 'priced',
    price: maybe(model.price, renderPrice),
    next_price: maybe(next, renderPrice),
    draft: maybe(draft, renderDraft),
    served: reason === null,
    not_served_because: reason,
    paused: pause === undefined ? null : { since: instant(pause.sinceMs), ...renderPause(pause) },
    created_at: instant(model.createdAtMs),
  };
}

function renderTarget({ upstreamId, upstreamModel, priority, weight }: Target) {
  return {
    upstream_id: upstreamId,
    upstream_model: upstreamModel,
    ...(priority === undefined ? {} : { priority }),
    ...(weight === undefined ? {} : { weight }),
  };
}

function targetState(upstream: Upstream | undefined): 'ok' | 'disabled' | 'unknown_upstream' {
  if (upstream === undefined) return 'unknown_upstream';
  return upstream.enabled ? 'ok' : 'disabled';
}

function whyNotServed(model: Model, hasRoute: boolean, isPaused: boolean): OperatorModel['not_served_because'] {
  if (model.state === ModelState.MODEL_STATE_RETIRED) return 'retired';
  if (model.price === undefined) return 'unpriced';
  if (!hasRoute) return 'no_enabled_upstream';
  return isPaused ? 'paused' : null;
}

function isFree(price: PriceVersion): boolean {
  return priceList(price).every(({ nanoUsd }) => nanoUsd === undefined || nanoUsd === 0n);
}

/** Renders a draft. */
export function renderDraft({ price, version, author, updatedAtMs }: PriceDraft): Draft {
  return {
    model_id: price!.modelId,
    version: Number(version),
    author: orNull(author),
    updated_at: instant(updatedAtMs),
    effective_from: price!.effectiveFromMs === 0n ? null : instant(price!.effectiveFromMs),
    usd_per_million_tokens: renderFigures(price!),
    unit_prices: renderUnitPrices(price),
  };
}

/** Holds the cost of a typical call in nano-USD; `before` is undefined if the model was unpriced. */
export interface CallCost {
  readonly before: bigint | undefined;
  readonly after: bigint;
}

/** Renders what publishing a draft changes; `costs` are those of the diff's typical calls, in their order. */
export function renderDiff(diff: PriceDiff, costs: readonly CallCost[]): PriceDifference {
  return {
    before: maybe(diff.before, renderPrice),
    changes: diff.changes.map(renderChange),
    warnings: diff.warnings.map(({ kind, unit }) => ({ kind: words.priceWarning.of(kind), unit: orNull(unit) })),
    later: diff.later.map(renderPrice),
    typical_calls: diff.typicalCalls.map(({ name, tokens }, index) => ({
      name,
      tokens: renderTokens(tokens!),
      units: renderUnits(tokens!),
      before_usd: maybe(costs[index]?.before, formatUsd),
      after_usd: maybe(costs[index]?.after, formatUsd),
    })),
  };
}

function renderChange(change: PriceChange): Change {
  return {
    unit: change.unit,
    per: change.per,
    before_usd: maybe(change.beforeNanoUsd, formatUsd),
    after_usd: maybe(change.afterNanoUsd, formatUsd),
    change_percent: maybe(change.changeBasisPoints, percent),
    before_max_per_call: change.beforeMaxPerCall ?? null,
    after_max_per_call: change.afterMaxPerCall ?? null,
  };
}

/** Returns hundredths of a percent as a decimal string, for example "-33.33". */
function percent(basisPoints: bigint): string {
  const absolute = basisPoints < 0n ? -basisPoints : basisPoints;
  return `${basisPoints < 0n ? '-' : ''}${absolute / 100n}.${(absolute % 100n).toString().padStart(2, '0')}`;
}
