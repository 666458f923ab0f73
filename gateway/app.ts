// The whole HTTP surface on one screen.
import type { RequestListener } from 'node:http';
import Router from '@koa/router';
import Koa, { type Context, type Middleware, type Next } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { chatCompletions } from './formats/chat-completions/index.js';
import { embeddings } from './formats/embeddings/index.js';
import type { Format } from './formats/format.js';
import { messages } from './formats/messages/index.js';
import { responses } from './formats/responses/index.js';
import { notOfferedAt, notOfferedMessage } from './formats/not-offered.js';
import { openapi } from './formats/openapi.js';
import { admit } from './http/middleware/admit.js';
import { compressed } from './http/middleware/compressed.js';
import { countRate } from './http/middleware/count-rate.js';
import { authenticate } from './http/middleware/authenticate.js';
import { errors } from './http/middleware/errors.js';
import { first } from './http/middleware/request-context.js';
import { consoleApi } from './console/api.js';
import { renderConsoleError } from './console/table/error.js';
import { consoleOpenapi } from './console/table/document.js';
import type { GatewayConfig } from './config.js';
import { publicAddress, publicProtocol } from './http/public-address.js';
import type { KeyReplica } from './replicas/keys.js';
import type { ModelPerformanceReplica } from './replicas/model-performance.js';
import type { BodyGuard } from './http/body-guard.js';
import type { Occupancy } from './http/occupancy.js';
import type { Refusals } from './refusals/refusals.js';
import { type Endpoint, stateOf } from './http/request-state.js';
import { getKey, getUsage } from './routes/account.js';
import { consolePages } from './routes/console.js';
import { countTokens } from './routes/count-tokens.js';
import { docs } from './routes/docs.js';
import { generate, type GenerateDeps } from './routes/generate.js';
import { livez, readyz } from './routes/health.js';
import { getCatalog, getModel, listModels } from './routes/models.js';
import { deleteResponse, getResponse, listInputItems } from './routes/stored-responses.js';
import { stripeWebhook } from './routes/payment-webhook.js';
import { catalogFile, catalogHtml, crawlerFiles, landingHtml, missingHtml, modelHtml, publicCatalog, unlessApi } from './routes/pages.js';
import type { SpoolState } from './call/recording/spool/spool.js';

/** What the routes need. */
export interface AppDeps extends GenerateDeps {
  readonly keys: KeyReplica;
  readonly performance: ModelPerformanceReplica;
  /** The dependencies without which calls cannot be served. */
  readiness(): Promise<string[]>;
  spoolState(): Promise<SpoolState>;
  warnings(): Promise<string[]>;
  isDraining(): boolean;
  readonly occupancy: Occupancy;
  readonly refusals: Refusals;
  readonly bodies: BodyGuard;
}

/** Returns a handler for an OpenAPI document with the absolute address of its API. The rest is serialized once: 60 KB take 2 ms. */
function sent(document: object, apiPath: string, config: GatewayConfig): Middleware {
  const rest = JSON.stringify(document).slice(1);
  return async (ctx: Context) => {
    ctx.type = 'json';
    ctx.body = `{"servers":${JSON.stringify([{ url: publicAddress(ctx, config) + apiPath }])},${rest}`;
  };
}

/** Builds the handler of all requests. */
export function createApp(deps: AppDeps): RequestListener {
  const keyed = authenticate(deps.keys);
  const { callsMax, callsPerAccountMax } = deps.config;
  const admitted = admit({ callsMax, callsPerAccountMax, occupancy: deps.occupancy });
  const in_ =
    (dialect: Format, endpoint?: Endpoint): Middleware =>
    (ctx: Context, next: Next) => {
      const state = stateOf(ctx);
      state.dialect = dialect;
      if (endpoint !== undefined) state.endpoint = endpoint;
      return next();
    };
  const call = (format: Format): Middleware => {
    const inFormat = in_(format, format.name);
    const answered = generate(format, deps);
    return (ctx: Context, next: Next) => inFormat(ctx, () => keyed(ctx, () => admitted(ctx, () => answered(ctx, next))));
  };
  const counted = countRate(deps.config.countsPerMinuteMax, deps.limiter);
  const calls = new Map<string, Middleware>();

  const router = new Router();
  router.get('/models', unlessApi(compressed(catalogHtml(deps))));
  router.get('/models/*id', unlessApi(compressed(modelHtml(deps))));
  router.get('/models.json', compressed(catalogFile(deps, 'json')));
  router.get('/models.csv', compressed(catalogFile(deps, 'csv')));
  const { index, search, page, list, whole, paths } = docs({
    ...deps,
    catalog: () => (deps.models.canList() ? publicCatalog(deps) : []),
  });
  router.get('/docs', compressed(index));
  router.get('/docs/search', compressed(search));
  router.get('/docs/*name', compressed(page));
  router.get('/llms.txt', compressed(list));
  router.get('/llms-full.txt', compressed(whole));
  // Base URLs are written with and without /v1, and client libraries differ in whether they add it; all of these work.
  for (const base of ['/v1', '', '/v1/v1']) {
    calls.set(`${base}/chat/completions`, call(chatCompletions));
    calls.set(`${base}/messages`, call(messages));
    calls.set(`${base}/embeddings`, call(embeddings));
    calls.set(`${base}/responses`, call(responses));
    router.post(`${base}/messages/count_tokens`, in_(messages, 'count-tokens'), keyed, counted, admitted, countTokens('messages', deps));
    router.post(`${base}/responses/input_tokens`, in_(responses, 'count-tokens'), keyed, counted, admitted, countTokens('responses', deps));
    router.post(`${base}/responses/compact`, nothingThere);
    const stored = deps.storedResponses.isOn ? [in_(responses), keyed] : [nothingThere];
    router.get(`${base}/responses/:id`, ...stored, getResponse(deps));
    router.delete(`${base}/responses/:id`, ...stored, deleteResponse(deps));
    router.get(`${base}/responses/:id/input_items`, ...stored, listInputItems(deps));
    router.get(`${base}/models`, keyed, listModels(deps.models));
    router.get(`${base}/models/*id`, keyed, getModel(deps.models));
  }
  for (const [path, handle] of calls) router.post(path, handle);
  router.get('/v1/key', keyed, getKey(deps));
  router.get('/v1/usage/:id', keyed, getUsage(deps));
  router.get('/v1/catalog', getCatalog(deps.models, deps.performance));
  router.get('/openapi.json', compressed(sent(openapi, '', deps.config)));
  router.get('/', unlessApi(compressed(landingHtml(deps))), nothingThere);
  const crawlers = crawlerFiles(deps, paths);
  router.get('/robots.txt', crawlers.robots);
  router.get('/sitemap.xml', compressed(crawlers.sitemap));
  router.get('/favicon.ico', (ctx: Context) => ctx.redirect('console/icon.svg'));
  router.post('/payments/stripe/webhook', stripeWebhook(deps.peers.payments));
  router.get('/livez', livez);
  router.get('/readyz', readyz(deps));
  // A connectivity probe that one widely used client sends when it starts.
  router.get('/api/hello', (ctx: Context) => void (ctx.body = { status: 'ok' }));

  // In routers of their own, so that a call is not matched against a hundred routes that do not concern it, nor the API against the console's pages.
  const ofConsole = new Router();
  ofConsole.get('/console/openapi.json', compressed(sent(consoleOpenapi, '/console/api', deps.config)));
  const console_ = consolePages();
  ofConsole.get('/console', console_.home);
  ofConsole.get('/console/*path', console_.page);
  const api = consoleApi(deps, [admitted, generate(chatCompletions, deps)]);
  const routerOf = ({ path }: Context): Router => {
    if (path.startsWith('/console/api/')) return api;
    return path === '/console' || path.startsWith('/console/') ? ofConsole : router;
  };
  const routed = new Map([router, ofConsole, api].map((each) => [each, each.routes() as Middleware]));

  const app = new Koa({ proxy: deps.config.trustProxy, maxIpsCount: deps.config.proxies });
  const outer = [first({ clock: deps.clock, log: deps.log, bodies: deps.bodies, dialectOf }), errors(deps.log, deps.refusals), oneHost];
  if (deps.config.trustProxy) outer.push(withoutForwardedHost, withoutPort);
  for (const each of outer) app.use(each);
  app.use(publicProtocol(deps.config));
  app.use(noteRoute(routerOf));
  app.use((ctx: Context, next: Next) => routed.get(routerOf(ctx))!(ctx, next));
  app.use(notFound(routerOf, missingHtml(deps)));
  // Everything is rendered and logged above; koa's own handler would print a stack.
  app.on('error', (error, ctx?: Context) => {
    // The connection broke, which is not our fault and happens all the time.
    if (ctx?.req.socket.destroyed === true) deps.log.debug({ err: error }, 'a client disconnected');
    else deps.log.error({ err: error }, 'koa reported an error');
  });
  return callsFirst(app, outer, calls);
}

/** Returns the error format for requests that no route of a format has matched. */
function dialectOf(ctx: Context): Pick<Format, 'error'> {
  if (ctx.path.startsWith('/console/api/') || ctx.path.startsWith('/payments/')) return { error: renderConsoleError };
  const speaksMessages = ctx.get('anthropic-version') !== '' || ctx.get('provider-version') !== '' || ctx.get('x-api-key') !== '';
  return ctx.path.includes('/messages') || speaksMessages ? messages : chatCompletions;
}

/**
 * Handles calls by their exact path, without matching them against every route and without koa's listeners for the end of each response, which cost
 * more than all other middleware. The router handles other spellings of the path.
 */
function callsFirst(app: Koa, outer: readonly Middleware[], calls: ReadonlyMap<string, Middleware>): RequestListener {
  const others = app.callback();
  return (request, response) => {
    const path = request.url!.split('?', 1)[0]!;
    const handle = request.method === 'POST' ? calls.get(path) : undefined;
    if (handle === undefined) return void others(request, response);
    const ctx = app.createContext(request, response) as Context;
    response.statusCode = 404;
    const run = (index: number): Promise<unknown> => {
      if (index < outer.length) return outer[index]!(ctx, () => run(index + 1));
      stateOf(ctx).route = path;
      return handle(ctx, done);
    };
    run(0).then(
      () => sendError(ctx),
      (error: Error) => ctx.onerror(error),
    );
  };
}

const done = (): Promise<void> => Promise.resolve();

/** Sends what the middleware for errors has rendered; the routes of calls send all other responses themselves. */
function sendError(ctx: Context): void {
  if (ctx.respond === false) return;
  if (ctx.writable) ctx.res.end(JSON.stringify(ctx.body));
  else ctx.res.end();
}

/** Refuses a request with several Host headers: proxies differ in which of them they read (https://www.rfc-editor.org/rfc/rfc9112#section-3.2). */
function oneHost(ctx: Context, next: Next): Promise<unknown> {
  const { rawHeaders } = ctx.req;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1)
    throw new AppError('invalid_request', 'The request has several Host headers; send only one.', { details: { field: 'host' } });
  return next();
}

/**
 * Removes X-Forwarded-Host, which koa would prefer to Host. Proxies that set only the two headers that are trusted pass it on as the client sent it, and a
 * shared cache could then store a public page with the address of another site.
 */
function withoutForwardedHost(ctx: Context, next: Next): Promise<unknown> {
  delete ctx.req.headers['x-forwarded-host'];
  return next();
}

/**
 * Removes the port that some proxies write behind the address of the client, Azure Application Gateway for example
 * (https://azure.microsoft.com/en-us/blog/rewrite-http-headers-with-azure-application-gateway/): with it, every connection would be another client.
 */
function withoutPort(ctx: Context, next: Next): Promise<unknown> {
  ctx.request.ip = ctx.ip.replace(/^(\d[\d.]+):\d+$/, '$1').replace(/^\[(.*)\](:\d+)?$/, '$1');
  return next();
}

/** Records the template of the matched route for telemetry. */
function noteRoute(routerOf: (ctx: Context) => Router): Middleware {
  return async (ctx: Context, next: Next) => {
    // The first layer that is not only middleware.
    const layer = routerOf(ctx)
      .match(ctx.path, ctx.method)
      .pathAndMethod.find(({ methods }) => methods.length > 0);
    if (layer !== undefined) stateOf(ctx).route = String(layer.path);
    await next();
  };
}

/** Distinguishes a wrong method from a wrong path. A browser gets a page for the latter. */
function notFound(routerOf: (ctx: Context) => Router, page: Middleware): Middleware {
  return async (ctx: Context, next: Next) => {
    const { path } = routerOf(ctx).match(ctx.path, ctx.method);
    // A layer that is only middleware has no methods.
    const allowed = [...new Set(path.flatMap(({ methods }) => methods))];
    if (allowed.length > 0) {
      ctx.set('allow', allowed.join(', '));
      throw new AppError('method_not_allowed', `${ctx.method} is not allowed on this path; use ${allowed.join(' or ')}.`);
    }
    // Programs accept anything, which browsers do not.
    if (ctx.method === 'GET' && /\btext\/html\b/.test(ctx.get('accept')) && notOfferedAt(ctx.path) === undefined) return page(ctx, next);
    nothingThere(ctx);
  };
}

function nothingThere(ctx: Context): never {
  const known = notOfferedAt(ctx.path);
  if (known !== undefined) throw new AppError('not_offered', notOfferedMessage(known), { details: { nearest: known.nearest } });
  const document = `${ctx.path.startsWith('/console/') ? '/console' : ''}/openapi.json`;
  throw new AppError('not_found', `${ctx.method} ${ctx.path.slice(0, 200)} does not exist. GET ${document} lists all routes.`, {
    details: { what: 'path' },
  });
}
