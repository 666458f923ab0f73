// The gateway's address in this browser. The page's base element is relative, so that it works below any path of a proxy.

/** The path of the console without a trailing slash, for example `/console` or `/tollgate/console`. */
export const consolePath = new URL(document.baseURI).pathname.replace(/\/$/, '');

/** The address of the gateway's root, ending in a slash. */
export const gatewayUrl = new URL('../', document.baseURI).href;

/** The base URL for client libraries; some add `/v1` themselves. */
export const clientBaseUrl = gatewayUrl.replace(/\/$/, '');

/** Returns the full address of a page of the console, for sharing. */
export function consoleUrl(path: string): string {
  return new URL(path.replace(/^\//, ''), document.baseURI).href;
}
