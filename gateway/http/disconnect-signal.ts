// Tells when a caller has left, so that nothing more is done for it.
import type { ServerResponse } from 'node:http';

/** Aborts when the connection closes before the answer has ended, and is aborted when it has closed already. */
export function leaving(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  const note = (): void => {
    if (!response.writableFinished) left.abort();
  };
  response.once('close', note);
  // While a compressed body was unpacked, say; the event is past then.
  if (response.closed) note();
  return left.signal;
}
