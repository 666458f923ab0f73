// A reverse proxy in front of the gateway, as operators use it: below a path, with TLS, or with another host name.
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { close, listen } from '#kit/testing/local-server.js';

/** Options of the proxy. */
export interface ProxyOptions {
  /** Address of the gateway. */
  readonly target: string;
  /** A path prefix that the proxy serves below and removes, for example `/tollgate`. */
  readonly path?: string;
  /** Terminates TLS with this certificate. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Sends X-Forwarded-Proto and -Host. */
  readonly forwardsHeaders?: boolean;
  /** Sends the gateway's own host name, as some proxies do by default. */
  readonly rewritesHost?: boolean;
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
  return {
    port: await listen(server),
    close: () => close(server),
  };
}

function forward(
  { target, path = '', tls, forwardsHeaders = false, rewritesHost = false }: ProxyOptions,
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
    host: rewritesHost ? new URL(target).host : host,
    ...(forwardsHeaders
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
