// Background work that runs periodically.
import { afterAbout } from './shared-timers.js';

/**
 * Runs `work` every `intervalMs`, counted from the end of the previous run, and passes what it throws to `onError`: only the first of
 * consecutive failures, so that an outage is reported once. Returns a function that stops it and resolves once no run is
 * in progress.
 */
export function repeat(intervalMs: number, work: () => Promise<unknown>, onError: (error: unknown) => void): () => Promise<void> {
  let isStopping = false;
  let endPause = (): void => {};
  let isFailing = false;
  const loop = async (): Promise<void> => {
    for (;;) {
      await new Promise<void>((resolve) => {
        const cancel = afterAbout(intervalMs, resolve);
        endPause = () => {
          cancel();
          resolve();
        };
      });
      if (isStopping) return;
      await work().then(
        () => (isFailing = false),
        (error: unknown) => {
          if (!isFailing) onError(error);
          isFailing = true;
        },
      );
      // Stopped during the run: there was no pause to end.
      if (isStopping) return;
    }
  };
  const ended = loop();
  return () => {
    isStopping = true;
    endPause();
    return ended;
  };
}
