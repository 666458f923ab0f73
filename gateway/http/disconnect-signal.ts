// Signals that a client has disconnected, so that no more work is done for it.
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A client that times out while its answer is on the way disconnects within this time. Client libraries wait longer before they retry. */
const crossingMs = 250;

/** Returns a signal that aborts when the connection closes before the response has ended, and is aborted already if it has closed. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  return controllerOf(response).signal;
}

/** The same, for an answer that may be sent again: the signal also aborts if the client disconnected without receiving the end of the response. */
export function undeliveredSignal(request: IncomingMessage, response: ServerResponse): AbortSignal {
  const disconnected = controllerOf(response);
  whenSent(request, response, (isDelivered) => {
    if (!isDelivered) disconnected.abort();
  });
  return disconnected.signal;
}

/** Calls back once it is known whether the client is likely to have received the end of the response; never if it disconnects before that is sent. */
export function whenSent(request: IncomingMessage, response: ServerResponse, note: (isDelivered: boolean) => void): void {
  response.once('finish', () => {
    const { writableEnded, readableEnded } = request.socket;
    // The server closes the connection, so that a client that disconnects cannot be noticed.
    if (writableEnded && !readableEnded) note(true);
    else setTimeout(() => note(isOpen(request)), crossingMs).unref();
  });
}

/**
 * Calls back once the event loop has read from all connections again, with whether that of the request was still open when something was written to it.
 * After a pause of the process, for example, the client's disconnect is read only after an answer that arrived later.
 */
export function whenRead(request: IncomingMessage, note: (wasOpen: boolean) => void): void {
  // The event loop reads between the two.
  setImmediate(() => setImmediate(() => note(isOpen(request))));
}

const isOpen = ({ socket }: IncomingMessage): boolean => !socket.readableEnded && !socket.destroyed;

function controllerOf(response: ServerResponse): AbortController {
  const disconnected = new AbortController();
  const note = (): void => {
    if (!response.writableFinished) disconnected.abort();
  };
  response.once('close', note);
  // For example, while a compressed body was decompressed; the event has then been missed.
  if (response.closed) note();
  return disconnected;
}
