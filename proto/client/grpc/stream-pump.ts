// Writes a producer's messages to a stream no faster than the consumer reads them.

/** Where messages are written: a stream of gRPC, or one between threads. */
export interface Sink<T> {
  /** Returns false if the next message must wait for the event `drain`. */
  write(message: T): boolean;
  on(event: 'drain', listener: () => void): unknown;
  off(event: 'drain', listener: () => void): unknown;
}

/**
 * Runs the producer until it ends or fails, or the signal aborts. When the signal aborts, the producer's `finally` runs as soon as the
 * producer allows it, and the signal's reason is thrown immediately.
 */
export async function pump<T>(
  source: AsyncIterable<unknown>,
  sink: Sink<T>,
  signal: AbortSignal,
  encode: (message: unknown) => T,
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
