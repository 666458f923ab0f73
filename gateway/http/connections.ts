// Guards the connections of the public address against what no single request can detect.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
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
  /** From now on each connection is closed after its next response, which announces it (`Connection: close`). */
  closeAfterResponses(): void;
  /** Closes the connections that have had no request for this long since `closeAfterResponses`. Returns how many remain open. */
  closeIdle(idleMs: number): number;
}

interface Connection {
  /** Requests that wait for the end of their responses. */
  unanswered: number;
  /** Not kept before `closeAfterResponses`. */
  idleSinceMs: number;
}

/** The limits of connections. */
export interface ConnectionLimits {
  /** Further connections are closed immediately. */
  readonly connectionsMax: number;
  /** A connection whose client reads nothing of a finished response, or of a piped body such as an export, for this long is closed. */
  readonly slowReaderTimeoutMs: number;
}

/** Watches a server's connections. */
export function watchConnections(
  server: Server,
  { connectionsMax, slowReaderTimeoutMs }: ConnectionLimits,
  occupancy: Pick<Occupancy, 'connections' | 'countConnection'>,
): Connections {
  const open = new Map<Socket, Connection>();
  /** Of all connections. */
  let unanswered = 0;
  let isClosing = false;

  // Responses queued behind another one are not notified that their connection has closed.
  server.on('connection', (socket) => {
    occupancy.countConnection(1);
    const connection = { unanswered: 0, idleSinceMs: performance.now() };
    open.set(socket, connection);
    socket.once('close', () => {
      occupancy.countConnection(-1);
      unanswered -= connection.unanswered;
      open.delete(socket);
    });
    if (occupancy.connections() > connectionsMax) socket.destroy();
  });

  function settle(socket: Socket): void {
    const connection = open.get(socket);
    // Counted when the connection closed.
    if (connection === undefined) return;
    connection.unanswered -= 1;
    unanswered -= 1;
    if (isClosing) connection.idleSinceMs = performance.now();
  }

  // The listeners serve all responses, so that a request does not create its own. `request.socket` is kept when the response is detached from it.
  function onClose(this: ServerResponse): void {
    settle(this.req.socket);
  }
  // Every read by the client restarts the timeout.
  function awaitReader(this: ServerResponse): void {
    this.req.socket.setTimeout(slowReaderTimeoutMs);
  }
  function endWait(this: ServerResponse): void {
    this.req.socket.setTimeout(0);
  }
  // A piped body is paused while the client reads more slowly than it is produced. Its own pauses may be longer than the timeout.
  function onPipe(this: ServerResponse, body: Readable): void {
    body.on('pause', awaitReader.bind(this));
    this.on('drain', endWait);
  }

  function watch(connection: Connection, response: ServerResponse): void {
    connection.unanswered += 1;
    unanswered += 1;
    response.on('close', onClose);
    response.on('prefinish', awaitReader);
    response.on('pipe', onPipe);
    // Before Node sets its own (keepAliveTimeout), which it does not while a pipelined request waits for its response.
    response.prependListener('finish', endWait);
  }

  return {
    guard: (handle) => (request, response) => {
      const { socket } = request;
      const connection = open.get(socket);
      // On a connection that is closed, or being closed, there can be no response.
      if (socket.destroyed || connection === undefined) return;
      if (connection.unanswered >= pipelinedMax) {
        socket.destroy();
        return;
      }
      watch(connection, response);
      if (isClosing) response.shouldKeepAlive = false;
      handle(request, response);
    },
    isQuiet: () => unanswered === 0,
    closeAfterResponses() {
      isClosing = true;
      for (const connection of open.values()) connection.idleSinceMs = performance.now();
    },
    closeIdle(idleMs) {
      const nowMs = performance.now();
      for (const [socket, connection] of open) {
        if (connection.unanswered > 0 || nowMs - connection.idleSinceMs < idleMs) continue;
        // Not `destroy`, which would reset the connection if a request had just arrived.
        socket.end();
        open.delete(socket);
      }
      return open.size;
    },
  };
}
