// Where browsers reach this gateway.
import type { Context } from 'koa';

/** Returns the address without a trailing slash: the configured one, otherwise that of the request, as forwarded by a trusted proxy. */
export function publicAddress(ctx: Pick<Context, 'protocol' | 'host'>, { publicUrl }: { readonly publicUrl: string | undefined }): string {
  return publicUrl ?? `${ctx.protocol}://${ctx.host}`;
}
