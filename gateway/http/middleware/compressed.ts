// Compression of the responses of single routes: public pages and files. It is not applied to all routes, because the bytes of calls pass unchanged, and
// because the length of a compressed response that contains a secret and text of the request reveals the secret (https://www.breachattack.com).
import { finished, Stream } from 'node:stream';
import type { Context, Middleware, Next } from 'koa';
import compress from 'koa-compress';

/** Compresses what the handler responds with, if the client accepts it and `filter` accepts the media type. */
export function compressed(handle: Middleware, filter: (type: string) => boolean = () => true): Middleware {
  const compressing = compress({ filter });
  return async (ctx: Context, next: Next) => {
    let source: unknown;
    await compressing(ctx, async () => {
      await handle(ctx, next);
      source = ctx.body;
    });
    const { body } = ctx;
    // A stream that fails must break the connection: otherwise the client would wait for an end that never comes, or take a part for the whole.
    if (source instanceof Stream.Readable && body instanceof Stream.Transform && body !== source)
      finished(source, (error) => error && body.destroy(error));
  };
}
