// Serves the console: one page for every address below /console, and its files.
import { fileURLToPath } from 'node:url';
import type { Context, Middleware } from 'koa';
import { root } from '#kit/root.js';
import { AppError } from '#client/errors/app-error.js';
import { type AppFile, type AppFiles, readAppFiles } from './console-files.js';

/** The content security policy of the console: allows its own files and its own API, and no inline script or style. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join('; ');

const builtFiles = fileURLToPath(new URL('dist/console-app/', root));

/** Handles GET /console and everything below it that is not the API. */
export function consolePages(): { home: Middleware; page: Middleware } {
  const files = readAppFiles(builtFiles);
  return {
    // The page needs the trailing slash, relative to which its files are addressed.
    home: async (ctx: Context) => {
      if (!ctx.path.endsWith('/')) {
        ctx.redirect(`console/${ctx.search}`);
        return;
      }
      sendIndex(ctx, files, './');
    },
    page: async (ctx: Context) => {
      const path = String(ctx['params'].path);
      const file = files.find(path);
      if (file !== undefined) return sendFile(ctx, file);
      // A missing file must not be answered with the page, because the browser would run it as a script.
      if (path.startsWith('assets/'))
        throw new AppError('not_found', 'The console has no such file; reload the page.', { details: { what: 'file' } });
      return sendIndex(ctx, files, '../'.repeat(ctx.path.split('/').length - 3) || './');
    },
  };
}

/** Sends the page. `base` leads from the requested address to /console/, whatever path a proxy has put before it. */
function sendIndex(ctx: Context, { index }: AppFiles, base: string): void {
  if (index === undefined)
    throw new AppError('not_found', 'The console was not built; build it with "make build".', { details: { what: 'console' } });
  ctx.set({
    'cache-control': 'no-cache',
    'content-security-policy': contentSecurityPolicy,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    // Over plain http browsers ignore it with a warning.
    ...(ctx.secure ? { 'cross-origin-opener-policy': 'same-origin' } : {}),
  });
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = index.replace('<base href="./" />', `<base href="${base}" />`);
}

function sendFile(ctx: Context, file: AppFile): void {
  ctx.vary('accept-encoding');
  ctx.set({
    'cache-control': file.isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache',
    'x-content-type-options': 'nosniff',
    etag: file.etag,
  });
  ctx.type = file.type;
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  const offered = (['br', 'gzip'] as const).filter((name) => file.forms[name] !== undefined);
  const encoding = ctx.acceptsEncodings([...offered, 'identity']);
  const chosen = offered.find((name) => name === encoding);
  if (chosen !== undefined) ctx.set('content-encoding', chosen);
  ctx.body = file.forms[chosen ?? 'identity'];
}
