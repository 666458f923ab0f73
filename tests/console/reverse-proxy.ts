// A reverse proxy as operators put before the gateway: below a path of its own, with TLS, or with another host name.
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** How the proxy stands before the gateway. */
export interface ProxyOptions {
  /** Where the gateway is. */
  readonly target: string;
  /** A path that the proxy puts before, and takes away, for example `/tollgate`. */
  readonly path?: string;
  /** Ends TLS with this certificate. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Says in X-Forwarded-Proto and -Host how it was asked. */
  readonly tells?: boolean;
  /** Asks the gateway under the gateway's own name, as some proxies do unless told otherwise. */
  readonly renames?: boolean;
}

/** A running proxy. */
export interface ReverseProxy {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a proxy on a free port of loopback. */
export async function startReverseProxy(options: ProxyOptions): Promise<ReverseProxy> {
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse): void => forward(options, incoming, outgoing);
  const server: Server = options.tls === undefined ? createServer(handle) : (createTlsServer(options.tls, handle) as unknown as Server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function forward(
  { target, path = '', tls, tells = false, renames = false }: ProxyOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void {
  const asked = incoming.url ?? '/';
  if (asked === path && path !== '') {
    outgoing.writeHead(308, { location: `${path}/` }).end();
    return;
  }
  if (!asked.startsWith(`${path}/`)) {
    outgoing.writeHead(404, { 'content-type': 'text/plain' }).end('not the gateway');
    return;
  }
  const host = incoming.headers.host!;
  const headers = {
    ...incoming.headers,
    host: renames ? new URL(target).host : host,
    ...(tells
      ? { 'x-forwarded-proto': tls === undefined ? 'http' : 'https', 'x-forwarded-host': host, 'x-forwarded-for': '203.0.113.9' }
      : {}),
  };
  const onward = request(new URL(asked.slice(path.length) || '/', target), { method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  incoming.on('error', () => onward.destroy());
  incoming.pipe(onward);
}
