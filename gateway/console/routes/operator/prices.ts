// Prices of models for operators: draft, look at the difference, publish.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { formatUsd, parseUsd } from '#rules/money.js';
import { unitPriceNanoUsdMax } from '#rules/pricing.js';
import { type PriceDiff, type PriceDraft, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { noteAudit } from '../../audit.js';
import { contextOf } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { queryText } from '../../paging.js';
import { type CallCost, renderDiff, renderDraft, renderPrice } from '../../render/catalog.js';
import { visitorOf } from '../../session.js';
import { catalogBodies } from './catalog-bodies.js';

const modelIdOf = (ctx: Context): string => String(ctx['params'].id);

/** GET price-drafts. */
export function listDrafts(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { drafts } = await deps.peers.catalog.listPriceDrafts({}, contextOf(deps));
    ctx.body = { data: drafts.map(renderDraft), next: null };
  };
}

/** GET price-drafts/{model}: the draft and what publishing it would change. */
export function getDraft(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    ctx.body = await draftWithDiff(modelIdOf(ctx), deps);
  };
}

/** PUT price-drafts/{model}. Nothing is in force until it is published. */
export function putDraft(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { usd_per_million_tokens: usd, effective_from, replaces_version } = await catalogBodies.putDraft(ctx);
    const figure = (name: keyof typeof usd): bigint => nanoUsdOf(`usd_per_million_tokens.${name}`, usd[name]!);
    const price = PriceVersion.fromPartial({
      modelId: modelIdOf(ctx),
      effectiveFromMs: effective_from == null ? 0n : laterMs(effective_from, deps),
      inputNanoUsdPerMtok: figure('input'),
      cacheReadNanoUsdPerMtok: figure('cache_read'),
      cacheWrite5mNanoUsdPerMtok: figure('cache_write_5m'),
      cacheWrite1hNanoUsdPerMtok: figure('cache_write_1h'),
      outputNanoUsdPerMtok: figure('output'),
      ...(usd.reasoning == null ? {} : { reasoningNanoUsdPerMtok: figure('reasoning') }),
    });
    const author = visitorOf(ctx).user.email;
    const { draft, diff } = await deps.peers.catalog.putPriceDraft(
      { price, author, ...(replaces_version == null ? {} : { replacesVersion: BigInt(replaces_version) }) },
      contextOf(deps),
    );
    await noteAudit(ctx, deps, { accountId: '', action: 'price.draft', targetId: draft!.price!.modelId, detail: renderDraft(draft!) });
    ctx.body = await renderWithDiff(draft!, diff!, deps);
  };
}

/** DELETE price-drafts/{model}?version=…, the version that was looked at. */
export function discardDraft(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const version = queryText(ctx, 'version');
    if (!/^\d{0,15}$/.test(version))
      throw new AppError('invalid_request', 'version: must be a whole number', { details: { field: 'version' } });
    await deps.peers.catalog.deletePriceDraft(
      { modelId: modelIdOf(ctx), ...(version === '' ? {} : { version: BigInt(version) }) },
      contextOf(deps),
    );
    await noteAudit(ctx, deps, {
      accountId: '',
      action: 'price.discard',
      targetId: modelIdOf(ctx),
      detail: version === '' ? {} : { version: Number(version) },
    });
    ctx.status = 204;
  };
}

/** POST prices/{model}: publishes the draft as it was compared. A repeat is answered as the first time was. */
export function publishDraft(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { draft_version, before_price_id } = await catalogBodies.publish(ctx);
    const { price } = await deps.peers.catalog.publishPriceDraft(
      { modelId: modelIdOf(ctx), version: BigInt(draft_version), beforePriceId: before_price_id ?? '' },
      contextOf(deps),
    );
    await noteAudit(ctx, deps, {
      accountId: '',
      action: 'price.publish',
      targetId: price!.modelId,
      detail: { draft_version, before_price_id, ...renderPrice(price!) },
    });
    ctx.status = 201;
    ctx.body = renderPrice(price!);
  };
}

/** The draft of a model and its difference. Raises model_unknown and not_found. */
export async function draftWithDiff(modelId: string, deps: ConsoleDeps): Promise<Record<string, unknown>> {
  const { draft, diff } = await deps.peers.catalog.getPriceDraft({ modelId }, contextOf(deps));
  return renderWithDiff(draft!, diff!, deps);
}

async function renderWithDiff(draft: PriceDraft, diff: PriceDiff, deps: ConsoleDeps): Promise<Record<string, unknown>> {
  const tokens = diff.typicalCalls.map((call) => call.tokens!);
  const prices = diff.before === undefined ? [draft.price!] : [draft.price!, diff.before];
  // Metering prices them by the function that charges calls, so that what is shown is what will be charged.
  const { estimates } = await deps.peers.metering.estimateCharges({ prices, tokens }, contextOf(deps));
  const costs = tokens.map((_, index): CallCost => ({
    after: estimates[index]!.chargeNanoUsd,
    before: estimates[tokens.length + index]?.chargeNanoUsd,
  }));
  return { ...renderDraft(draft), diff: renderDiff(diff, costs) };
}

function nanoUsdOf(field: string, usd: string): bigint {
  const nanoUsd = parseUsd(usd)!;
  if (nanoUsd > unitPriceNanoUsdMax)
    throw new AppError('invalid_request', `${field}: must be at most ${formatUsd(unitPriceNanoUsdMax)}`, { details: { field } });
  return nanoUsd;
}

function laterMs(text: string, { clock }: ConsoleDeps): bigint {
  const ms = Date.parse(text);
  const refuse = (why: string): AppError =>
    new AppError('invalid_request', `effective_from: ${why}`, { details: { field: 'effective_from' } });
  if (Number.isNaN(ms)) throw refuse('is no instant that there is');
  if (ms < clock.nowMs()) throw refuse('is in the past; send a later instant, or null to begin when it is published');
  return BigInt(ms);
}
