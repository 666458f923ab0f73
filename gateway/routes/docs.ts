// The docs: GET /docs, /docs/{page} for readers, /docs/{page}.md, /llms.txt and /llms-full.txt for programs. None of them requires a key.
import type { Context, Middleware } from 'koa';
import { docHtml, docsIndexHtml, noDocHtml, renderPages } from '../docs/html-pages.js';
import { llmsFullTxt, llmsTxt } from '../docs/llms.js';
import { once } from '../docs/once.js';
import { readDocPages } from '../docs/pages.js';
import { contentSecurityPolicy } from '../pages/page.js';

/** The routes of the docs by their path. */
export interface DocRoutes {
  readonly index: Middleware;
  readonly page: Middleware;
  readonly list: Middleware;
  readonly whole: Middleware;
}

// The pages change only with a new version of the program.
const maxAgeSeconds = 300;
const textType = 'text/plain; charset=utf-8';

/** Reads every page of the docs, once. Throws if a file is missing from the installation. */
export function docs(): DocRoutes {
  const pages = renderPages(readDocPages());
  const texts = new Map<string, { type: string; text: () => string }>();
  for (const each of pages) {
    texts.set(each.name, { type: 'text/html; charset=utf-8', text: once(() => docHtml(each, pages)) });
    texts.set(`${each.name}.md`, { type: 'text/markdown; charset=utf-8', text: () => each.markdown });
  }
  const index = once(() => docsIndexHtml(pages));
  const [list, whole] = [once(() => llmsTxt(pages)), once(() => llmsFullTxt(pages))];

  return {
    index: async (ctx: Context) => {
      // The links of a page are relative to its address without a trailing slash.
      if (ctx.path.endsWith('/')) redirect(ctx, '../docs');
      else send(ctx, 'text/html; charset=utf-8', index());
    },
    page: async (ctx: Context) => {
      const name = String(ctx['params'].name).replace(/\/$/, '');
      const found = texts.get(name);
      if (found !== undefined && ctx.path.endsWith('/')) return redirect(ctx, `../${name}`);
      if (found !== undefined) return send(ctx, found.type, found.text());
      ctx.status = 404;
      send(ctx, 'text/html; charset=utf-8', noDocHtml(name.slice(0, 200), '../'.repeat(ctx.path.split('/').length - 2)));
    },
    list: async (ctx: Context) => send(ctx, textType, list()),
    whole: async (ctx: Context) => send(ctx, textType, whole()),
  };
}

function redirect(ctx: Context, address: string): void {
  ctx.status = 308;
  ctx.set('location', address);
}

function send(ctx: Context, type: string, text: string): void {
  ctx.set({
    'cache-control': `public, max-age=${maxAgeSeconds}`,
    'content-security-policy': contentSecurityPolicy,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  });
  ctx.type = type;
  ctx.body = text;
}
