// Where browsers reach this gateway.
import type { Context, Middleware, Next } from 'koa';

/** Returns the address without a trailing slash: the configured one, otherwise the Host of the request with the protocol that a trusted proxy reports. */
export function publicAddress(ctx: Pick<Context, 'protocol' | 'host'>, { publicUrl }: { readonly publicUrl: string | undefined }): string {
  return publicUrl ?? `${ctx.protocol}://${ctx.host}`;
}

/** Whether browsers reach this gateway by TLS, but no proxy is trusted, so that all users seem to have the address of the proxy. */
export function isUntrustedProxy({
  publicUrl,
  trustProxy,
}: {
  readonly publicUrl: string | undefined;
  readonly trustProxy: boolean;
}): boolean {
  return publicUrl?.startsWith('https:') === true && !trustProxy;
}

/**
 * Takes the protocol of the public address for requests at its host, also if no proxy is trusted: their cookies are then secure. Requests at another
 * host, for example at http://127.0.0.1 on the machine itself, keep their protocol, since browsers would not return secure cookies there.
 */
export function publicProtocol({ publicUrl }: { readonly publicUrl: string | undefined }): Middleware {
  const host = publicUrl?.startsWith('https:') === true ? new URL(publicUrl).host : undefined;
  return (ctx: Context, next: Next) => {
    if (host !== undefined && ctx.host.toLowerCase() === host) Object.defineProperty(ctx.request, 'protocol', { value: 'https' });
    return next();
  };
}
