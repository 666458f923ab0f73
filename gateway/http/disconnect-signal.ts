// Signals that a client has disconnected, so that no more work is done for it.
import type { ServerResponse } from 'node:http';

/** Returns a signal that aborts when the connection closes before the response has ended, and is aborted already if it has closed. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const disconnected = new AbortController();
  const note = (): void => {
    if (!response.writableFinished) disconnected.abort();
  };
  response.once('close', note);
  // For example, while a compressed body was decompressed; the event has then been missed.
  if (response.closed) note();
  return disconnected.signal;
}
