// Sends a streaming request before its first message is read.

/** Requests the first message now. The caller aborts the request if it does not read the answer. */
export function beginReading<T>(messages: AsyncIterable<T>): AsyncIterable<T> {
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
  };
}
