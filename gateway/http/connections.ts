// Guards the connections of the public address against what no single request can detect.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Occupancy } from './occupancy.js';

/**
 * Requests that one connection may have pipelined ahead of their responses. Node hands over every request in what it has read (64 KiB),
 * so that without a bound a few connections that send requests and never read would occupy the process for many seconds.
 */
export const pipelinedMax = 16;

/** The connections of one server. */
export interface Connections {
  /** Handles the requests of well-behaved connections, and closes others. */
  guard(handle: RequestListener): RequestListener;
  /** Reports whether no request is waiting for the end of its response. */
  isQuiet(): boolean;
}

/** The limits of connections. */
export interface ConnectionLimits {
  /** Further connections are closed immediately. */
  readonly connectionsMax: number;
  /** A connection whose client reads nothing of a finished response for this long is closed. */
  readonly slowReaderTimeoutMs: number;
}

/** Watches a server's connections. */
export function watchConnections(
  server: Server,
  { connectionsMax, slowReaderTimeoutMs }: ConnectionLimits,
  occupancy: Pick<Occupancy, 'connections' | 'countConnection'>,
): Connections {
  const unanswered = new Map<Socket, number>();

  // Responses queued behind another one are not notified that their connection has closed.
  server.on('connection', (socket) => {
    occupancy.countConnection(1);
    socket.once('close', () => {
      occupancy.countConnection(-1);
      unanswered.delete(socket);
    });
    if (occupancy.connections() > connectionsMax) socket.destroy();
  });

  function settle(socket: Socket): void {
    const left = (unanswered.get(socket) ?? 0) - 1;
    if (left > 0) unanswered.set(socket, left);
    else unanswered.delete(socket);
  }

  function watch(socket: Socket, response: ServerResponse): void {
    unanswered.set(socket, (unanswered.get(socket) ?? 0) + 1);
    response.once('close', () => settle(socket));
    // Every read by the client restarts the timeout, and Node sets its own (keepAliveTimeout) when the response has been sent.
    response.once('prefinish', () => socket.setTimeout(slowReaderTimeoutMs));
  }

  return {
    guard: (handle) => (request, response) => {
      const { socket } = request;
      if (socket.destroyed) return;
      if ((unanswered.get(socket) ?? 0) >= pipelinedMax) {
        socket.destroy();
        return;
      }
      watch(socket, response);
      handle(request, response);
    },
    isQuiet: () => unanswered.size === 0,
  };
}
