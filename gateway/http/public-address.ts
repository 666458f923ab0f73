// Where browsers reach this gateway.
import type { Context } from 'koa';

/** Returns the address without a trailing slash: the configured one, otherwise the Host of the request with the protocol that a trusted proxy reports. */
export function publicAddress(ctx: Pick<Context, 'protocol' | 'host'>, { publicUrl }: { readonly publicUrl: string | undefined }): string {
  return publicUrl ?? `${ctx.protocol}://${ctx.host}`;
}
