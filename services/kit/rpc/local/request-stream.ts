// The serving side's view of the requests of a call that streams them.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The requests of one call, read one by one. */
export class RequestStream implements AsyncIterableIterator<unknown> {
  private hasEnded = false;
  private settlePending: { end(): void; fail(reason: unknown): void } | undefined;

  /** `receive` converts what the source sends into what the service sees. */
  constructor(
    private readonly source: AsyncIterator<unknown>,
    private readonly signal: AbortSignal,
    private readonly receive: (sent: unknown) => unknown,
  ) {
    signal.addEventListener('abort', () => this.settlePending?.fail(signal.reason), { once: true });
  }

  /** Stops reading: to the service it looks as if the caller had sent its last request. */
  end(): void {
    this.hasEnded = true;
    this.settlePending?.end();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Returns the next request. Rejects with the signal's reason once the call has ended, however long the source takes. */
  next(): Promise<IteratorResult<unknown>> {
    return new Promise((resolve, reject) => {
      const end = (): void => resolve({ done: true, value: undefined });
      if (this.hasEnded) return end();
      if (this.signal.aborted) return reject(this.signal.reason);
      this.settlePending = { end, fail: reject };
      return this.source
        .next()
        .then(async (sent) => {
          // Over HTTP/2 a caller that cancels ends its stream first; its disconnect is known only at the end of this turn of the event
          // loop.
          if (sent.done === true) await nextTurn();
          if (this.signal.aborted) return reject(this.signal.reason);
          this.hasEnded ||= sent.done === true;
          if (this.hasEnded) return end();
          return resolve({ done: false, value: this.receive(sent.value) });
        })
        .catch(reject);
    });
  }

  /** Called when the service wants no more requests. */
  return(): Promise<IteratorResult<unknown>> {
    this.end();
    // Not awaited: a source that is waiting, such as a generator, would make the service wait too.
    this.source.return?.().catch(() => {});
    return Promise.resolve({ done: true, value: undefined });
  }
}
