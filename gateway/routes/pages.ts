// The public pages: GET /, /models and /models/{id}, the same catalog as JSON and CSV, and what crawlers read. None of them requires a key.
import type { Context, Middleware, Next } from 'koa';
import type { Clock } from '#kit/clock.js';
import { hasReason } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { GatewayConfig } from '../config.js';
import { hasSessionCookie } from '../console/session/session.js';
import { publicAddress } from '../http/public-address.js';
import { renderCatalog } from '../formats/models.js';
import type { CatalogModel } from '../formats/models-schema.js';
import { catalogCsv } from '../pages/catalog/catalog-csv.js';
import { catalogPage, isOfSandbox, modelAddress } from '../pages/catalog/catalog-page.js';
import { readCatalogQuery, selectModels } from '../pages/catalog/catalog-query.js';
import { comparedMax, comparePage } from '../pages/catalog/compare-page.js';
import { robotsTxt, sitemapXml } from '../pages/crawlers.js';
import { readSize } from '../pages/catalog/estimate.js';
import { landingPage } from '../pages/landing-page.js';
import { missingPage } from '../pages/missing-page.js';
import { languages, type PageLanguage, pageLanguageOf } from '../pages/language.js';
import { modelPage, unknownModelPage } from '../pages/catalog/model-page.js';
import type { Place } from '../pages/page.js';
import { contentSecurityPolicy } from '../pages/style.js';
import { unavailablePage } from '../pages/unavailable-page.js';
import type { GatewayPeers } from '../peers.js';
import type { ModelPerformanceReplica, Performances } from '../replicas/model-performance.js';
import type { ModelReplica } from '../replicas/models.js';

/** What the pages are generated from. */
export interface PageDeps {
  readonly models: ModelReplica;
  readonly performance: Pick<ModelPerformanceReplica, 'read'>;
  readonly peers: { readonly catalog: Pick<GatewayPeers['catalog'], 'listPriceVersions'> };
  readonly config: Pick<GatewayConfig, 'rpcTimeoutMs' | 'publicUrl' | 'landingPage' | 'catalogSandbox'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Serves the page unless the request has a key or prefers JSON: `/models` is also the list of models at a base URL without /v1. */
export function unlessApi(page: Middleware): Middleware {
  return async (ctx: Context, next: Next) => {
    ctx.vary(['accept', 'authorization', 'x-api-key']);
    const hasKey = ctx.get('authorization') !== '' || ctx.get('x-api-key') !== '';
    return hasKey || ctx.accepts('html', 'json') !== 'html' ? next() : page(ctx, next);
  };
}

/** Returns the landing page, or redirects to the console: signed-in users, and all users if the operator switched the page off. */
export function landingHtml(deps: PageDeps): Middleware {
  return async (ctx: Context) => {
    ctx.vary('cookie');
    if (!deps.config.landingPage || hasSessionCookie(ctx)) return ctx.redirect('console/');
    const models = deps.models.canList() ? publicCatalog(deps) : undefined;
    sendPage(ctx, landingPage({ models, place: placeOf(ctx, deps.config), pageLanguage: pageLanguageFor(ctx) }));
  };
}

/** Returns the catalog as a page, or a comparison of the models that the address names. */
export function catalogHtml(deps: PageDeps): Middleware {
  return async (ctx: Context) => {
    const [place, pageLanguage] = [placeOf(ctx, deps.config), pageLanguageFor(ctx)];
    if (!deps.models.canList()) return sendUnavailable(ctx, place, pageLanguage);
    const all = publicCatalog(deps);
    const compared = new Set([ctx.query['compare'] ?? []].flat().slice(0, comparedMax));
    const models = all.filter(({ id }) => compared.has(id));
    if (models.length > 0) return sendPage(ctx, comparePage({ models, place: { ...place, isUnlisted: true }, pageLanguage }));
    const query = readCatalogQuery(ctx.query);
    sendPage(ctx, catalogPage({ all, shown: selectModels(all, query), query, place, pageLanguage }));
  };
}

/** Returns the catalog as JSON or CSV, by the same query. */
export function catalogFile(deps: PageDeps, format: 'json' | 'csv'): Middleware {
  return async (ctx: Context) => {
    const chosen = selectModels(publicCatalog(deps, await deps.performance.read()), readCatalogQuery(ctx.query));
    ctx.set('cache-control', 'public, max-age=30');
    ctx.type = format === 'json' ? 'application/json' : 'text/csv; charset=utf-8';
    ctx.body = format === 'json' ? { object: 'list', data: chosen } : catalogCsv(chosen);
  };
}

/** Returns a model's page, by id or alias, or a page that says that there is no such model. */
export function modelHtml(deps: PageDeps): Middleware {
  return async (ctx: Context) => {
    const name = String(ctx['params'].id);
    const place = placeOf(ctx, deps.config);
    if (!deps.models.canList()) return sendUnavailable(ctx, place, pageLanguageFor(ctx));
    let id: string | undefined;
    try {
      ({ id } = deps.models.find(name));
    } catch (error) {
      if (!hasReason(error, 'model_unknown')) throw error;
    }
    const model = publicCatalog(deps, await deps.performance.read()).find((each) => each.id === id);
    if (model === undefined) {
      ctx.status = 404;
      return sendPage(ctx, unknownModelPage(name.slice(0, 200), { ...place, isUnlisted: true }, pageLanguageFor(ctx)));
    }
    sendPage(
      ctx,
      modelPage({
        model,
        history: await priceHistory(model.id, deps),
        size: readSize(ctx.query, model.unit_prices),
        // An alias leads to the page, whose address is that of the id.
        place: { ...place, path: modelAddress('', model.id) },
        nowMs: deps.clock.nowMs(),
        pageLanguage: pageLanguageFor(ctx),
      }),
    );
  };
}

/** Returns a page for an address without one. */
export function missingHtml({ config }: Pick<PageDeps, 'config'>): Middleware {
  return async (ctx: Context) => {
    ctx.status = 404;
    sendPage(ctx, missingPage({ ...placeOf(ctx, config), isUnlisted: true }, pageLanguageFor(ctx)));
  };
}

/** Returns the models that the public pages list. Throws service_unavailable until they can be listed. */
export function publicCatalog({ models, config }: Pick<PageDeps, 'models' | 'config'>, performances?: Performances): CatalogModel[] {
  const all = renderCatalog(models.list(), (model) => models.isServed(model), performances).data;
  return config.catalogSandbox ? all : all.filter((model) => !isOfSandbox(model));
}

/** Returns robots.txt and sitemap.xml. `docPaths` are the public pages of the docs. */
export function crawlerFiles(deps: PageDeps, docPaths: () => readonly string[]): { robots: Middleware; sitemap: Middleware } {
  return {
    robots: async (ctx: Context) => {
      ctx.type = 'text/plain; charset=utf-8';
      ctx.body = robotsTxt(publicAddress(ctx, deps.config));
    },
    sitemap: async (ctx: Context) => {
      const pages = publicCatalog(deps).map(({ id }) => modelAddress('', id));
      ctx.type = 'application/xml; charset=utf-8';
      ctx.body = sitemapXml(publicAddress(ctx, deps.config), [...(deps.config.landingPage ? [''] : []), 'models', ...pages, ...docPaths()]);
    },
  };
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

/** Chooses the language by the address, otherwise by the browser's preference; the Vary header informs caches. */
function pageLanguageFor(ctx: Context): PageLanguage {
  ctx.vary('accept-language');
  return pageLanguageOf(ctx.query, languages.find((language) => language === ctx.acceptsLanguages([...languages])) ?? languages[0]!);
}

/** Returns where a page is, by the address of its request. */
function placeOf(ctx: Context, config: Pick<GatewayConfig, 'publicUrl'>): Place {
  return {
    // As many levels up as the address has below the root, so that the page also works behind a proxy that adds a path.
    root: '../'.repeat(ctx.path.split('/').length - 2) || './',
    site: publicAddress(ctx, config),
    path: ctx.path.slice(1),
  };
}

const waitSeconds = 5;

/** Sends a page that says so while models cannot be listed yet: every model would seem not to exist or not to be served. */
function sendUnavailable(ctx: Context, place: Place, pageLanguage: PageLanguage): void {
  ctx.status = 503;
  sendPage(ctx, unavailablePage({ ...place, isUnlisted: true }, pageLanguage));
  ctx.set({ 'retry-after': String(waitSeconds), 'cache-control': 'no-store' });
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
