// Lets the calls in flight on a closing connection of grpc-js finish.
import { subscribe } from 'node:diagnostics_channel';
import type { Http2Session, Http2Stream, IncomingHttpHeaders } from 'node:http2';

const seen = new WeakSet<Http2Session>();

/**
 * grpc-js tests its connections with pings, on both sides. Node refuses to ping on a session that is closing gracefully, which grpc-js takes for a dead
 * connection, so that it drops the calls in flight (https://github.com/grpc/grpc-node/issues/3068). Here, such a ping counts as answered. Only Node's
 * diagnostics lead to the sessions of grpc-js.
 */
function answerPingsWhileClosing(message: unknown): void {
  const { stream, headers } = message as { readonly stream: Http2Stream; readonly headers: IncomingHttpHeaders };
  const { session } = stream;
  if (session === undefined || seen.has(session) || headers['content-type']?.startsWith('application/grpc') !== true) return;
  seen.add(session);
  const ping = session.ping.bind(session) as (...args: unknown[]) => boolean;
  // The callback is the last argument; a payload may precede it.
  session.ping = (...args: unknown[]) => {
    if (!session.closed || session.destroyed) return ping(...args);
    setImmediate(args.at(-1) as PingCallback, null, 0, Buffer.alloc(8));
    return true;
  };
}

type PingCallback = (error: Error | null, durationMs: number, payload: Buffer) => void;

for (const side of ['client', 'server']) subscribe(`http2.${side}.stream.created`, answerPingsWhileClosing);
