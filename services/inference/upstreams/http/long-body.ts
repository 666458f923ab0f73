// The body of a request with a long prompt, which is released once it is sent.

/** Shorter bodies are sent as bytes, which takes a few microseconds less. */
export const longBodyBytesMin = 64 * 1024;

/**
 * Yields its bytes once, and releases them. Undici keeps the body of a request until its response has ended, which for a stream may be minutes. It
 * accepts any iterable, though its types do not say so (its docs/docs/api/Dispatcher.md, "DispatchOptions").
 */
export class LongBody implements IterableIterator<Uint8Array> {
  #bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  next(): IteratorResult<Uint8Array> {
    const value = this.#bytes;
    this.#bytes = undefined;
    return value === undefined ? { done: true, value } : { done: false, value };
  }

  [Symbol.iterator](): this {
    return this;
  }
}
