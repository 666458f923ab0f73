// GET /v1/models and GET /v1/models/{id}: the models that this key may call. GET /v1/catalog: the public catalog.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { renderCatalog, renderModel, renderModelList } from '../formats/models.js';
import { isPermitted, type PermittedCaller } from '../call/admission/model-checks.js';
import type { ModelPerformanceReplica } from '../replicas/model-performance.js';
import type { ModelReplica } from '../replicas/models.js';
import { stateOf } from '../http/request-state.js';

/** Lists the models that the key may call and that can be served and billed now. */
export function listModels(models: ModelReplica): Middleware {
  return async (ctx: Context) => {
    const caller = callerOf(ctx);
    const visible = models.list().filter((model) => model.price !== undefined && models.isServed(model) && isPermitted(caller, model));
    ctx.body = renderModelList(visible, {
      limit: first(ctx.query['limit']),
      afterId: first(ctx.query['after_id']),
      beforeId: first(ctx.query['before_id']),
    });
  };
}

/** Returns one model by id or alias; the id may contain slashes, raw or encoded. */
export function getModel(models: ModelReplica): Middleware {
  return async (ctx: Context) => {
    const caller = callerOf(ctx);
    const name = String(ctx['params'].id);
    const { model, price } = models.resolveListed(name);
    if (!isPermitted(caller, model)) {
      // A key that may not use a model must not learn that it exists.
      throw new AppError(
        'model_unknown',
        `The model "${name.slice(0, 200)}" does not exist. GET /v1/models lists the models of your key.`,
        { details: { field: 'model' } },
      );
    }
    ctx.body = renderModel({ ...model, price });
  };
}

/** Returns the public catalog: every model with its limits and prices; no key required. */
export function getCatalog(models: ModelReplica, performance: Pick<ModelPerformanceReplica, 'read'>): Middleware {
  return async (ctx: Context) => {
    ctx.body = renderCatalog(models.list(), (model) => models.isServed(model), await performance.read());
    ctx.set('cache-control', 'public, max-age=30');
  };
}

function callerOf(ctx: Context): PermittedCaller {
  const { key, project } = stateOf(ctx);
  return { key: key!, project };
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
