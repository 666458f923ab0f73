// Where browsers reach this gateway.
import type { Context } from 'koa';

/** The address without a trailing slash: as it was set, or else as the request came, through a proxy where proxies are believed. */
export function publicAddress(ctx: Pick<Context, 'protocol' | 'host'>, { publicUrl }: { readonly publicUrl: string | undefined }): string {
  return publicUrl ?? `${ctx.protocol}://${ctx.host}`;
}
