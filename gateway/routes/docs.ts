// The docs: GET /docs, /docs/{page} and /docs/search for readers, /docs/{page}.md, /llms.txt and /llms-full.txt for programs. None requires a key.
import type { Context, Middleware } from 'koa';
import type { GatewayConfig } from '../config.js';
import type { ConsoleDeps } from '../console/deps.js';
import { hasSessionCookie, visitorIf } from '../console/session/session.js';
import { docHtml, noDocHtml, type RenderedPage, renderPages, searchHtml } from '../docs/html-pages.js';
import { llmsFullTxt, llmsTxt } from '../docs/llms.js';
import { withServedLinks } from '../docs/markdown.js';
import { once } from '../docs/once.js';
import { readDocPages } from '../docs/pages.js';
import { filledIn } from '../docs/placeholders.js';
import { quickStartHtml } from '../docs/quick-start.js';
import { createSearch } from '../docs/search.js';
import type { CatalogModel } from '../formats/models-schema.js';
import { publicAddress } from '../http/public-address.js';
import { escapeText } from '../pages/html.js';
import { sampleModel } from '../pages/landing-page.js';
import { contentSecurityPolicy } from '../pages/style.js';

/** The routes of the docs by their path. */
export interface DocRoutes {
  readonly index: Middleware;
  readonly search: Middleware;
  readonly page: Middleware;
  readonly list: Middleware;
  readonly whole: Middleware;
  /** The paths, below the root, of the public pages. */
  paths(): string[];
}

/** What the docs are generated from, in addition to their files. */
export interface DocDeps extends ConsoleDeps {
  readonly config: ConsoleDeps['config'] & Pick<GatewayConfig, 'operatorDocs'>;
  /** Returns the models of the public catalog; none until they can be listed. */
  catalog(): CatalogModel[];
}

// The pages change only with a new version of the program.
const maxAgeSeconds = 300;
const textType = 'text/plain; charset=utf-8';
const htmlType = 'text/html; charset=utf-8';
const searchQueryMax = 100;

/** The pages that some readers may read, and what is derived from them once. */
interface Edition {
  readonly pages: readonly RenderedPage[];
  readonly html: ReadonlyMap<string, () => string>;
  readonly list: () => string;
  readonly whole: () => string;
}

/** Reads every page of the docs, once. Throws if a file is missing from the installation. */
export function docs(deps: DocDeps): DocRoutes {
  const all = renderPages(readDocPages());
  const search = createSearch(all);
  const editionOf = (pages: readonly RenderedPage[]): Edition => ({
    pages,
    html: new Map(pages.map((each) => [each.name, once(() => docHtml(each, pages))])),
    list: once(() => llmsTxt(pages)),
    whole: once(() => llmsFullTxt(pages)),
  });
  const complete = editionOf(all);
  const isClosed = deps.config.operatorDocs === 'operators';
  const open = isClosed ? editionOf(all.filter(({ audience }) => audience !== 'operators')) : complete;

  const editionFor = async (ctx: Context): Promise<Edition> => {
    if (!isClosed || !hasSessionCookie(ctx)) return open;
    const visitor = await visitorIf(ctx, deps);
    return visitor?.user.isOperator === true ? complete : open;
  };
  const instance = (ctx: Context): Parameters<typeof filledIn>[1] => ({
    site: publicAddress(ctx, deps.config),
    model: sampleModel(deps.catalog())?.id ?? 'sandbox/echo',
  });
  const send = (ctx: Context, type: string, text: string): void => {
    ctx.set({
      'cache-control': isClosed ? 'private, no-cache' : `public, max-age=${maxAgeSeconds}`,
      'content-security-policy': contentSecurityPolicy,
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
    ctx.type = type;
    ctx.body = filledIn(text, instance(ctx), type === htmlType ? escapeText : undefined);
  };

  return {
    index: async (ctx: Context) => {
      // The links of a page are relative to its address without a trailing slash.
      if (ctx.path.endsWith('/')) return redirect(ctx, '../docs');
      send(ctx, htmlType, quickStartHtml(sampleModel(deps.catalog()), publicAddress(ctx, deps.config), (await editionFor(ctx)).pages));
    },
    search: async (ctx: Context) => {
      const query = String([ctx.query['q'] ?? ''].flat()[0]).slice(0, searchQueryMax);
      const { pages } = await editionFor(ctx);
      const readable = new Set(pages);
      send(ctx, htmlType, searchHtml(query, await search.find(query, (page) => readable.has(page)), pages));
    },
    page: async (ctx: Context) => {
      const name = String(ctx['params'].name).replace(/\/$/, '');
      const { pages, html } = await editionFor(ctx);
      const rendered = html.get(name);
      if (rendered !== undefined && ctx.path.endsWith('/')) return redirect(ctx, `../${name.slice(name.lastIndexOf('/') + 1)}`);
      if (rendered !== undefined) return send(ctx, htmlType, rendered());
      const asMarkdown = pages.find((each) => `${each.name}.md` === name);
      if (asMarkdown !== undefined) {
        const readable = new Set(pages.map((each) => each.name));
        return send(ctx, 'text/markdown; charset=utf-8', withServedLinks(asMarkdown.markdown(), readable, asMarkdown.name));
      }
      const isForOperators = complete.html.has(name.replace(/\.md$/, ''));
      ctx.status = isForOperators ? 401 : 404;
      send(ctx, htmlType, noDocHtml(ctx.path.slice(1), pages, isForOperators));
    },
    list: async (ctx: Context) => send(ctx, textType, (await editionFor(ctx)).list()),
    whole: async (ctx: Context) => send(ctx, textType, (await editionFor(ctx)).whole()),
    paths: () => ['docs', ...open.pages.map(({ name }) => `docs/${name}`)],
  };
}

function redirect(ctx: Context, address: string): void {
  ctx.status = 308;
  ctx.set('location', address);
}
