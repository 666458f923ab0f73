// Background work that runs again and again.
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Runs `work` every `intervalMs`, counted from the end of the run before, and hands what it throws to `onError`: of failures that
 * follow each other the first alone, since an outage is told once. Returns a function that ends it and resolves once no run is
 * under way.
 */
export function repeat(intervalMs: number, work: () => Promise<void>, onError: (error: unknown) => void): () => Promise<void> {
  const stopping = new AbortController();
  let isFailing = false;
  const loop = async (): Promise<void> => {
    for (;;) {
      // An aborted pause is the end of the loop, not a fault.
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
