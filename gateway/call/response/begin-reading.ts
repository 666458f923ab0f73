// Sends a streaming request before its first message is read.

/** Messages of which the first is requested. */
export interface BegunReading<T> extends AsyncIterable<T> {
  /** Ends the messages for a consumer that does not read them. It has aborted the request, which alone ends only a wait for a message. */
  leave(): void;
}

/** Requests the first message now. */
export function beginReading<T>(messages: AsyncIterable<T>): BegunReading<T> {
  const iterator = messages[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<T>> | undefined = iterator.next();
  // Its failure is raised to the reader.
  first.catch(() => undefined);
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const next = first ?? iterator.next();
        first = undefined;
        return next;
      },
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
    leave: () => void iterator.return?.().catch(() => undefined),
  };
}
