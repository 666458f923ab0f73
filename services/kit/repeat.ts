// Background work that runs periodically.
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Runs `work` every `intervalMs`, counted from the end of the previous run, and passes what it throws to `onError`: only the first of
 * consecutive failures, so that an outage is reported once. Returns a function that stops it and resolves once no run is
 * in progress.
 */
export function repeat(intervalMs: number, work: () => Promise<void>, onError: (error: unknown) => void): () => Promise<void> {
  const stopping = new AbortController();
  let isFailing = false;
  const loop = async (): Promise<void> => {
    for (;;) {
      // An aborted pause ends the loop; it is not an error.
      await pause(intervalMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      await work().then(
        () => (isFailing = false),
        (error: unknown) => {
          if (!isFailing) onError(error);
          isFailing = true;
        },
      );
    }
  };
  const ended = loop();
  return () => {
    stopping.abort();
    return ended;
  };
}
