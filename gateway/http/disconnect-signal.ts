// Signals that a client has disconnected, so that no more work is done for it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { whenSocketsRead } from '#kit/scheduling/turn.js';

/** Returns a signal that aborts when the connection closes before the response has ended, and is aborted already if it has closed. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  return controllerOf(response).signal;
}

/** The same, and the signal also aborts if the client had disconnected before the end of the response was written. */
export function undeliveredSignal(request: IncomingMessage, response: ServerResponse): AbortSignal {
  const disconnected = controllerOf(response);
  whenSent(request, response, (wasOpen) => {
    if (!wasOpen) disconnected.abort();
  });
  return disconnected.signal;
}

/** Calls back with whether the connection was still open when the end of the response was written; never if it closes before. */
export function whenSent(request: IncomingMessage, response: ServerResponse, note: (wasOpen: boolean) => void): void {
  response.once('finish', () => {
    const { writableEnded, readableEnded } = request.socket;
    // The server itself closes the connection, and reads nothing more from it.
    if (writableEnded && !readableEnded) note(true);
    else whenRead(request, note);
  });
}

/**
 * Calls back once the event loop has read from all connections again, with whether that of the request is still open. After a pause of the process, a
 * client's disconnect may be read only after an answer that arrived later.
 */
export function whenRead(request: IncomingMessage, note: (isOpen: boolean) => void): void {
  whenSocketsRead(() => note(isOpen(request)));
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
