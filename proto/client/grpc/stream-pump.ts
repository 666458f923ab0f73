// Writes a producer's messages to a gRPC stream no faster than the consumer reads them.
import type { Writable } from 'node:stream';

/**
 * Runs the producer until it ends or fails, or the signal aborts. When the signal aborts, the producer's `finally` runs as soon as the
 * producer allows it, and the signal's reason is thrown immediately.
 */
export async function pump(
  source: AsyncIterable<unknown>,
  sink: Writable,
  signal: AbortSignal,
  encode: (message: unknown) => Buffer,
): Promise<void> {
  const iterator = source[Symbol.asyncIterator]();
  let ended = false;
  let wake: (() => void) | undefined;
  let failPending: ((reason: unknown) => void) | undefined;
  const onDrain = (): void => wake?.();
  const onAbort = (): void => failPending?.(signal.reason);
  sink.on('drain', onDrain);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const result = await new Promise<IteratorResult<unknown>>((resolve, reject) => {
        failPending = reject;
        iterator.next().then(resolve, reject);
      });
      if (result.done === true) break;
      if (sink.write(encode(result.value))) continue;
      // A consumer that has disconnected never drains; without the abort the producer would wait for it forever.
      await new Promise<void>((resolve, reject) => {
        wake = resolve;
        failPending = reject;
      });
    }
    ended = true;
  } finally {
    sink.off('drain', onDrain);
    signal.removeEventListener('abort', onAbort);
    // For a producer that failed, and so has already ended, this does nothing.
    if (!ended) iterator.return?.().catch(() => {});
  }
}
