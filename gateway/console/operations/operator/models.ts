// Models, for operators.
import { hasReason } from '#client/errors/app-error.js';
import { Model, ModelState } from '#proto/catalog/v1/catalog.js';
import { renderUnitPrices } from '../../../formats/models.js';
import type { OperationDeps } from '../../deps.js';
import { renderFigures, renderHistory, renderModelFields, renderOperatorModel } from '../../render/catalog.js';
import { words } from '../../render/words.js';
import { CatalogFile, CreateModel, OperatorModelList, PauseModel, UpdateModel, WholeModel } from '../../schemas/operator/catalog.js';
import { type Area, type Call, created, ok, operation } from '../../table/operation.js';
import { updateMaskOf } from '../../table/update-mask.js';
import { futureMs } from '../../instants.js';
import { draftWithDiff } from './prices.js';

type Rpc = Pick<Call, 'context'>;

export const models: Area = {
  title: 'Operators: models',
  description: 'The models in the catalog, and whether they are served.',
  operations: [
    operation('GET', '/operator/models', {
      summary: 'List all models, including retired ones. The list is not paginated.',
      who: 'operator',
      answers: [ok(OperatorModelList)],
      handle: async (call, deps) => {
        const { catalog } = deps.peers;
        const [{ models: found, scheduledPrices: scheduled }, upstreams, { drafts }] = await Promise.all([
          catalog.listModels({}, call.context()),
          upstreamsById(call, deps),
          catalog.listPriceDrafts({}, call.context()),
        ]);
        const draftOf = new Map(drafts.map((draft) => [draft.price!.modelId, draft]));
        return {
          data: found.map((model) =>
            renderOperatorModel(model, { upstreams, scheduled, draft: draftOf.get(model.id), nowMs: deps.clock.nowMs() }),
          ),
          next: null,
        };
      },
    }),
    operation('POST', '/operator/models', {
      summary: 'Create a model.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: CreateModel,
      answers: [created(WholeModel)],
      errors: { already_exists: 'The id or an alias already names a model.' },
      handle: async (call, deps) => {
        const { body, context } = call;
        const { id } = body.model;
        const wanted = changed(Model.fromPartial({ state: ModelState.MODEL_STATE_ACTIVE }), body.model);
        const { model } = await deps.peers.catalog.putModel({ model: { ...wanted, id }, createOnly: true }, context());
        return wholeModel(model!.id, call, deps);
      },
    }),
    operation('GET', '/operator/models/{model}', {
      summary: 'Show a model, by its id or an alias, with all of its prices and its draft.',
      who: 'operator',
      answers: [ok(WholeModel)],
      errors: { model_unknown: 'There is no such model.' },
      handle: (call, deps) => wholeModel(call.params.model, call, deps),
    }),
    operation('PATCH', '/operator/models/{model}', {
      summary: 'Change a model: absent fields are unchanged. Set its state to retire it.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: UpdateModel,
      answers: [ok(WholeModel)],
      errors: { already_exists: 'An alias names another model.', model_unknown: 'There is no such model.' },
      handle: async (call, deps) => {
        const {
          body: { model: changes },
          params,
          context,
        } = call;
        const { model: present } = await deps.peers.catalog.getModel({ modelId: params.model }, context());
        // Only these fields, so that what another operator changes meanwhile is kept.
        const updateMask = updateMaskOf(changes);
        if (updateMask.length > 0) await deps.peers.catalog.putModel({ model: changed(present!, changes), updateMask }, context());
        return wholeModel(present!.id, call, deps);
      },
    }),
    operation('PUT', '/operator/model-pauses/{model}', {
      summary: 'Pause a model: calls to it are refused until `until` or, if that is absent, until the model is resumed.',
      who: 'operator',
      body: PauseModel,
      answers: [ok(WholeModel)],
      errors: { model_unknown: 'There is no such model.' },
      handle: async (call, deps) => {
        const { until, reason } = call.body;
        const untilMs = until == null ? 0n : futureMs('until', until, deps.clock.nowMs());
        const request = { modelId: call.params.model, untilMs, reason: reason ?? '' };
        const { model } = await deps.peers.catalog.pauseModel(request, call.context());
        return wholeModel(model!.id, call, deps);
      },
    }),
    operation('DELETE', '/operator/model-pauses/{model}', {
      summary: 'Resume a paused model; has no effect if it is not paused.',
      who: 'operator',
      answers: [ok(WholeModel)],
      errors: { model_unknown: 'There is no such model.' },
      handle: async (call, deps) => {
        const { model } = await deps.peers.catalog.resumeModel({ modelId: call.params.model }, call.context());
        return wholeModel(model!.id, call, deps);
      },
    }),
    operation('GET', '/operator/catalog.json', {
      summary: 'Download all models with their current prices, in the format of `tollgate model import`.',
      who: 'operator',
      answers: [ok(CatalogFile)],
      handle: async ({ ctx, context }, { peers }) => {
        const { models: found } = await peers.catalog.listModels({}, context());
        ctx.attachment('catalog.json');
        return {
          models: found.map((model) => ({
            ...renderModelFields(model),
            usd_per_million_tokens: model.price === undefined ? null : renderFigures(model.price),
            unit_prices: renderUnitPrices(model.price),
          })),
        };
      },
    }),
  ],
};

async function wholeModel(modelId: string, call: Rpc, deps: OperationDeps): Promise<WholeModel> {
  const { catalog } = deps.peers;
  const { model } = await catalog.getModel({ modelId }, call.context());
  const [{ prices }, upstreams, draft] = await Promise.all([
    catalog.listPriceVersions({ modelId: model!.id }, call.context()),
    upstreamsById(call, deps),
    draftWithDiff(model!.id, call, deps).catch((error: unknown) => {
      if (hasReason(error, 'not_found')) return null;
      throw error;
    }),
  ]);
  const nowMs = deps.clock.nowMs();
  const scheduled = prices.filter(({ effectiveFromMs }) => effectiveFromMs > BigInt(nowMs)).reverse();
  return { ...renderOperatorModel(model!, { upstreams, scheduled, draft: undefined, nowMs }), prices: renderHistory(prices, nowMs), draft };
}

async function upstreamsById({ context }: Rpc, { peers }: OperationDeps) {
  const { upstreams } = await peers.inference.listUpstreams({}, context());
  return new Map(upstreams.map((upstream) => [upstream.id, upstream]));
}

/** Returns the model with the fields of a body applied. */
function changed(model: Model, body: UpdateModel): Model {
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
      list.map((target) => ({
        upstreamId: target.upstream_id,
        upstreamModel: target.upstream_model,
        priority: target.priority,
        weight: target.weight,
      })),
    ),
    tokenizer: maybe(body.tokenizer, model.tokenizer, words.tokenizer.value),
    state: maybe(body.state, model.state, words.modelState.value),
    imageTokensMax: body.image_tokens_max ?? model.imageTokensMax,
    prefixAffinity: body.prefix_affinity ?? model.prefixAffinity,
    hedgeAfterMs: body.hedge_after_ms === undefined ? model.hedgeAfterMs : (body.hedge_after_ms ?? undefined),
    aliases: body.aliases ?? model.aliases,
  };
}
