// Catalog models → the bodies of GET /v1/models, GET /v1/models/{id} and GET /v1/catalog.
import { enumWord } from '#kit/enum-word.js';
import { Capability, Modality, type Model, type ModelPause, ModelState, type PriceVersion } from '#proto/catalog/v1/catalog.js';
import { AppError } from '#client/errors/app-error.js';
import { formatUsd } from '#rules/money/money.js';
import type { ModelPerformance, ModelPerformance_Period as Period } from '#proto/metering/v1/metering.js';
import type { Catalog, ModelList, ModelView, PerformancePeriodView, PerformanceView, UnitPrices } from './models-schema.js';

/** Holds the query of GET /v1/models, unparsed. */
export interface Paging {
  limit?: string | undefined;
  afterId?: string | undefined;
  beforeId?: string | undefined;
}

const pageSizeDefault = 20;
const pageSizeMax = 1000;

/**
 * Returns the list in the given order: all of it if no paging is requested, because clients of the chat-completions format cannot
 * page; otherwise one page. Raises invalid_request for an invalid limit or id.
 */
export function renderModelList(models: readonly Model[], paging: Paging = {}): ModelList {
  const { page, hasMore } = pageOf(models, paging);
  const data = page.map(renderModel);
  return { object: 'list', data, has_more: hasMore, first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

/** Returns one model. */
export function renderModel(model: Model): ModelView {
  const createdAtMs = Number(model.createdAtMs);
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(createdAtMs / 1000),
    owned_by: model.provider,
    type: 'model',
    display_name: model.displayName,
    created_at: new Date(createdAtMs).toISOString(),
    max_input_tokens: model.contextLimitTokens,
    max_tokens: model.outputLimitTokens,
    lifecycle: lifecycleOf(model.state),
    description: model.description,
    aliases: model.aliases,
    input_modalities: model.inputModalities.map((modality) => enumWord(Modality[modality], 'MODALITY_')),
    output_modalities: model.outputModalities.map((modality) => enumWord(Modality[modality], 'MODALITY_')),
    features: model.capabilities.map((capability) => enumWord(Capability[capability], 'CAPABILITY_')),
    ...(model.imageTokensMax === 0 ? {} : { max_image_tokens: model.imageTokensMax }),
    usd_per_million_tokens: model.price === undefined ? null : renderTokenPrices(model.price),
    unit_prices: renderUnitPrices(model.price),
    ...(model.pause === undefined ? {} : { paused: renderPause(model.pause) }),
  };
}

/** Returns when a pause ends, and why it is. */
export function renderPause({ untilMs, reason }: ModelPause): { until: string | null; reason: string } {
  return { until: untilMs === 0n ? null : new Date(Number(untilMs)).toISOString(), reason };
}

/** Returns every model with its limits and prices, for any caller; `isServed` says whether an upstream for it is available. */
export function renderCatalog(
  models: readonly Model[],
  isServed: (model: Model) => boolean,
  performances: ReadonlyMap<string, ModelPerformance> = new Map(),
): Catalog {
  const data = models.map((model) => ({
    ...renderModel(model),
    ...performanceOf(performances.get(model.id)),
    available: model.price !== undefined && model.pause === undefined && isServed(model),
  }));
  return { object: 'list', data };
}

function performanceOf(measured: ModelPerformance | undefined): { performance?: PerformanceView } {
  if (measured?.lastWeek === undefined) return {};
  const { lastDay, lastWeek } = measured;
  return { performance: { last_24h: lastDay === undefined ? null : renderPeriod(lastDay), last_7d: renderPeriod(lastWeek) } };
}

function renderPeriod({ availableBasisPoints, firstOutput, tokensPerSecondP50, tokensPerSecondP5 }: Period): PerformancePeriodView {
  return {
    available_percent: availableBasisPoints / 100,
    first_token_ms: firstOutput === undefined ? null : { p50: firstOutput.p50Ms, p95: firstOutput.p95Ms },
    output_tokens_per_second: tokensPerSecondP50 === undefined ? null : { p50: tokensPerSecondP50, p5: tokensPerSecondP5! },
  };
}

function pageOf(models: readonly Model[], { limit, afterId, beforeId }: Paging): { page: readonly Model[]; hasMore: boolean } {
  if (limit === undefined && afterId === undefined && beforeId === undefined) return { page: models, hasMore: false };
  const size = pageSizeOf(limit);
  if (beforeId !== undefined) {
    const end = indexOf(models, beforeId, 'before_id');
    const start = Math.max(0, end - size);
    return { page: models.slice(start, end), hasMore: start > 0 };
  }
  const start = afterId === undefined ? 0 : indexOf(models, afterId, 'after_id') + 1;
  return { page: models.slice(start, start + size), hasMore: start + size < models.length };
}

function pageSizeOf(limit: string | undefined): number {
  if (limit === undefined) return pageSizeDefault;
  const size = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (size < 1 || size > pageSizeMax) throw queryError('limit', `must be a whole number from 1 to ${pageSizeMax}`);
  return size;
}

function indexOf(models: readonly Model[], id: string, field: string): number {
  const index = models.findIndex((model) => model.id === id);
  if (index < 0) throw queryError(field, 'must be the id of a model in this list; leave it out to start from the beginning');
  return index;
}

function queryError(field: string, text: string): AppError {
  return new AppError('invalid_request', `${field}: ${text}`, { details: { field } });
}

function lifecycleOf(state: ModelState): ModelView['lifecycle'] {
  if (state === ModelState.MODEL_STATE_DEPRECATED) return 'deprecated';
  return state === ModelState.MODEL_STATE_RETIRED ? 'retired' : 'active';
}

/** Returns the prices of units that are not tokens; none for a model without a price. */
export function renderUnitPrices(price: PriceVersion | undefined): UnitPrices {
  return (price?.units ?? []).map(({ unit, nanoUsd, maxPerCall }) => ({ unit, usd: formatUsd(nanoUsd), max_per_call: maxPerCall }));
}

/** Returns the prices of tokens per million. */
export function renderTokenPrices(price: PriceVersion): NonNullable<ModelView['usd_per_million_tokens']> {
  const reasoning = price.reasoningNanoUsdPerMtok;
  return {
    input: formatUsd(price.inputNanoUsdPerMtok),
    cache_read: formatUsd(price.cacheReadNanoUsdPerMtok),
    cache_write_5m: formatUsd(price.cacheWrite5mNanoUsdPerMtok),
    cache_write_1h: formatUsd(price.cacheWrite1hNanoUsdPerMtok),
    output: formatUsd(price.outputNanoUsdPerMtok),
    ...(reasoning === undefined ? {} : { reasoning: formatUsd(reasoning) }),
  };
}
