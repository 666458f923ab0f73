// Watches over the connections of the public address: what no single request can see of itself.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests that one connection may have sent ahead of their answers. Node hands over every request in what it has read (64 KiB),
 * so that without a bound a few connections that ask and never read would occupy the process for many seconds.
 */
export const pipelinedMax = 16;

/** The connections of one server. */
export interface Connections {
  /** The handler, called for the requests of well-behaved connections; others are broken off. */
  guard(handle: RequestListener): RequestListener;
  /** Whether no request waits for the end of its answer. */
  isQuiet(): boolean;
}

/** Watches a server's connections. One whose reader takes nothing of an ended answer for `slowReaderTimeoutMs` is broken off. */
export function watchConnections(server: Server, { slowReaderTimeoutMs }: { slowReaderTimeoutMs: number }): Connections {
  const unanswered = new Map<Socket, number>();

  // Answers that wait behind another one are not told that their connection has closed.
  server.on('connection', (socket) => socket.once('close', () => unanswered.delete(socket)));

  function settle(socket: Socket): void {
    const left = (unanswered.get(socket) ?? 0) - 1;
    if (left > 0) unanswered.set(socket, left);
    else unanswered.delete(socket);
  }

  function watch(socket: Socket, response: ServerResponse): void {
    unanswered.set(socket, (unanswered.get(socket) ?? 0) + 1);
    response.once('close', () => settle(socket));
    // Progress of the reader puts the time off, and Node sets its own when the answer is out (keepAliveTimeout).
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
