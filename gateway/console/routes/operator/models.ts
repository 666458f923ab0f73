// Models for operators: what there is and whether it is served, and changes of it.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { hasReason } from '#client/errors/app-error.js';
import { Model, ModelState } from '#proto/catalog/v1/catalog.js';
import { noteAudit } from '../../audit.js';
import { contextOf } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { renderFigures, renderHistory, renderModelFields, renderOperatorModel } from '../../render/catalog.js';
import { words } from '../../render/catalog-words.js';
import { catalogBodies } from './catalog-bodies.js';
import { draftWithDiff } from './prices.js';

/** GET models: all, retired ones too. */
export function listModels(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const [{ models, scheduledPrices }, upstreams, { drafts }] = await Promise.all([
      deps.peers.catalog.listModels({}, contextOf(deps)),
      upstreamsById(deps),
      deps.peers.catalog.listPriceDrafts({}, contextOf(deps)),
    ]);
    const draftOf = new Map(drafts.map((draft) => [draft.price!.modelId, draft]));
    ctx.body = {
      data: models.map((model) => renderOperatorModel(model, { upstreams, scheduled: scheduledPrices, draft: draftOf.get(model.id) })),
      next: null,
    };
  };
}

/** GET models/{id}: one by its id or an alias, with all of its prices and its draft. */
export function getModel(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    ctx.body = await wholeModel(modelIdOf(ctx), deps);
  };
}

/** POST models: a new one. Raises already_exists. */
export function createModel(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { model: body } = await catalogBodies.createModel(ctx);
    const { models } = await deps.peers.catalog.listModels({}, contextOf(deps));
    if (models.some(({ id }) => id === body.id))
      throw new AppError('already_exists', `There is a model "${body.id}" already.`, { details: { field: 'model.id' } });
    const wanted = changed(Model.fromPartial({ state: ModelState.MODEL_STATE_ACTIVE }), body);
    const { model } = await deps.peers.catalog.putModel({ model: { ...wanted, id: body.id } }, contextOf(deps));
    await noteAudit(ctx, deps, { accountId: '', action: 'model.create', targetId: model!.id, detail: renderModelFields(model!) });
    ctx.status = 201;
    ctx.body = await wholeModel(model!.id, deps);
  };
}

/** PATCH models/{id}: only what the body names; to retire one is to put its state. */
export function updateModel(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { model: body } = await catalogBodies.updateModel(ctx);
    const { model: present } = await deps.peers.catalog.getModel({ modelId: modelIdOf(ctx) }, contextOf(deps));
    const { model } = await deps.peers.catalog.putModel({ model: changed(present!, body) }, contextOf(deps));
    const isRetired = body.state === 'retired' && present!.state !== ModelState.MODEL_STATE_RETIRED;
    await noteAudit(ctx, deps, {
      accountId: '',
      action: isRetired ? 'model.retire' : 'model.update',
      targetId: model!.id,
      detail: difference(present!, model!),
    });
    ctx.body = await wholeModel(model!.id, deps);
  };
}

/** GET catalog.json: all models with their prices in force, as `tollgate model import` takes them. */
export function exportCatalog(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { models } = await deps.peers.catalog.listModels({}, contextOf(deps));
    ctx.attachment('catalog.json');
    ctx.type = 'json';
    const data = models.map((model) => ({
      ...renderModelFields(model),
      usd_per_million_tokens: model.price === undefined ? null : renderFigures(model.price),
    }));
    ctx.body = `${JSON.stringify({ models: data }, undefined, 2)}\n`;
  };
}

/** The id in the path; it may hold slashes. */
export function modelIdOf(ctx: Context): string {
  return String(ctx['params'].id);
}

async function wholeModel(modelId: string, deps: ConsoleDeps): Promise<Record<string, unknown>> {
  const { model } = await deps.peers.catalog.getModel({ modelId }, contextOf(deps));
  const [{ prices }, upstreams, draft] = await Promise.all([
    deps.peers.catalog.listPriceVersions({ modelId: model!.id }, contextOf(deps)),
    upstreamsById(deps),
    draftWithDiff(model!.id, deps).catch((error: unknown) => {
      if (hasReason(error, 'not_found')) return null;
      throw error;
    }),
  ]);
  const nowMs = deps.clock.nowMs();
  const scheduled = prices.filter(({ effectiveFromMs }) => effectiveFromMs > BigInt(nowMs)).reverse();
  return { ...renderOperatorModel(model!, { upstreams, scheduled, draft: undefined }), prices: renderHistory(prices, nowMs), draft };
}

async function upstreamsById(deps: ConsoleDeps) {
  const { upstreams } = await deps.peers.inference.listUpstreams({}, contextOf(deps));
  return new Map(upstreams.map((upstream) => [upstream.id, upstream]));
}

type Changes = Partial<Awaited<ReturnType<typeof catalogBodies.createModel>>['model']>;

/** The model with what a body names put in place. */
function changed(model: Model, body: Changes): Model {
  const maybe = <T, R>(value: T | undefined, present: R, read: (value: T) => R): R => (value === undefined ? present : read(value));
  return {
    ...model,
    displayName: body.display_name ?? model.displayName,
    description: body.description ?? model.description,
    provider: body.provider ?? model.provider,
    contextLimitTokens: body.context_limit_tokens ?? model.contextLimitTokens,
    outputLimitTokens: body.output_limit_tokens ?? model.outputLimitTokens,
    inputModalities: maybe(body.input_modalities, model.inputModalities, (list) => list.map(words.modality.value)),
    outputModalities: maybe(body.output_modalities, model.outputModalities, (list) => list.map(words.modality.value)),
    capabilities: maybe(body.capabilities, model.capabilities, (list) => list.map(words.capability.value)),
    targets: maybe(body.targets, model.targets, (list) =>
      list.map((target) => ({ upstreamId: target.upstream_id, upstreamModel: target.upstream_model })),
    ),
    tokenizer: maybe(body.tokenizer, model.tokenizer, words.tokenizer.value),
    state: maybe(body.state, model.state, words.state.value),
    imageTokensMax: body.image_tokens_max ?? model.imageTokensMax,
    aliases: body.aliases ?? model.aliases,
  };
}

/** For the audit log: each field that changed, before and after. */
function difference(before: Model, after: Model): Record<string, unknown> {
  const [old, now] = [renderModelFields(before), renderModelFields(after)];
  const names = Object.keys(now).filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
  return Object.fromEntries(names.map((name) => [name, { before: old[name], after: now[name] }]));
}
