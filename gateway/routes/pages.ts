// The public pages: GET /models and /models/{id} for browsers, and the same catalog as JSON and CSV. None of them requires a key.
import type { Context, Middleware, Next } from 'koa';
import type { Clock } from '#kit/clock.js';
import { hasReason } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { publicAddress } from '../http/public-address.js';
import { renderCatalog } from '../formats/models.js';
import type { CatalogModel } from '../formats/models-schema.js';
import { catalogCsv } from '../pages/catalog-csv.js';
import { catalogPage } from '../pages/catalog-page.js';
import { readCatalogQuery, selectModels } from '../pages/catalog-query.js';
import { readSize } from '../pages/estimate.js';
import { languages, type Speech, speechOf } from '../pages/language.js';
import { modelPage, unknownModelPage } from '../pages/model-page.js';
import { contentSecurityPolicy } from '../pages/page.js';
import type { GatewayPeers } from '../peers.js';
import type { ModelReplica } from '../replicas/models.js';

/** What the pages are generated from. */
export interface PageDeps {
  readonly models: ModelReplica;
  readonly peers: { readonly catalog: Pick<GatewayPeers['catalog'], 'listPriceVersions'> };
  readonly config: { readonly rpcTimeoutMs: number; readonly publicUrl: string | undefined };
  readonly clock: Clock;
  readonly log: Logger;
}

/** Serves the page to browsers, and skips it for programs: `/models` is also the list of models at a base address without /v1. */
export function forBrowsers(page: Middleware): Middleware {
  return async (ctx: Context, next: Next) => {
    ctx.vary('accept');
    const hasKey = ctx.get('authorization') !== '' || ctx.get('x-api-key') !== '';
    return hasKey || ctx.accepts('json', 'html') !== 'html' ? next() : page(ctx, next);
  };
}

/** Returns the catalog as a page. */
export function catalogHtml(deps: PageDeps): Middleware {
  return async (ctx: Context) => {
    const all = catalogOf(deps);
    const query = readCatalogQuery(ctx.query);
    sendPage(ctx, catalogPage({ all, shown: selectModels(all, query), query, root: './', speech: speechFor(ctx) }));
  };
}

/** Returns the catalog as JSON or CSV, by the same query. */
export function catalogFile(deps: PageDeps, format: 'json' | 'csv'): Middleware {
  return async (ctx: Context) => {
    const chosen = selectModels(catalogOf(deps), readCatalogQuery(ctx.query));
    ctx.set('cache-control', 'public, max-age=30');
    ctx.type = format === 'json' ? 'application/json' : 'text/csv; charset=utf-8';
    ctx.body = format === 'json' ? { object: 'list', data: chosen } : catalogCsv(chosen);
  };
}

/** Returns a model's page, by id or alias, or a page that says that there is no such model. */
export function modelHtml(deps: PageDeps): Middleware {
  return async (ctx: Context) => {
    const name = String(ctx['params'].id);
    // As many levels up as the address has below the root, so that the page also works behind a proxy that adds a path.
    const root = '../'.repeat(ctx.path.split('/').length - 2) || './';
    let id: string;
    try {
      ({ id } = deps.models.find(name));
    } catch (error) {
      if (!hasReason(error, 'model_unknown')) throw error;
      ctx.status = 404;
      return sendPage(ctx, unknownModelPage(name.slice(0, 200), root, speechFor(ctx)));
    }
    const model = catalogOf(deps).find((each) => each.id === id)!;
    sendPage(
      ctx,
      modelPage({
        model,
        history: await priceHistory(id, deps),
        size: readSize(ctx.query),
        root,
        baseUrl: publicAddress(ctx, deps.config),
        nowMs: deps.clock.nowMs(),
        speech: speechFor(ctx),
      }),
    );
  };
}

function catalogOf({ models }: PageDeps): CatalogModel[] {
  return renderCatalog(models.list(), (model) => models.isServed(model)).data;
}

/** Returns the price history, or undefined while the catalog service is unavailable: a page without it is better than none. */
async function priceHistory(modelId: string, { peers, config, log }: PageDeps): Promise<readonly PriceVersion[] | undefined> {
  try {
    return (await peers.catalog.listPriceVersions({ modelId }, callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs }))).prices;
  } catch (error) {
    log.warn({ err: error }, 'the price history could not be read');
    return undefined;
  }
}

/** Chooses the language by the address, otherwise by the browser's preference; the Vary header tells caches so. */
function speechFor(ctx: Context): Speech {
  ctx.vary('accept-language');
  return speechOf(ctx.query, languages.find((language) => language === ctx.acceptsLanguages([...languages])) ?? languages[0]!);
}

function sendPage(ctx: Context, text: string): void {
  ctx.set({
    'cache-control': 'public, max-age=30',
    'content-security-policy': contentSecurityPolicy,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  });
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = text;
}
