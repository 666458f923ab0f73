// The two ends of one direction of a stream between threads. The sender is ahead of the consumer by a limited number of messages.
import { EventEmitter } from 'node:events';
import type { Sink } from '#client/grpc/stream-pump.js';

/** Messages that a sender may be ahead of its consumer. */
export const aheadMax = 32;

/** The sending end, as `pump` writes to it. */
export class Outlet extends EventEmitter implements Sink<Uint8Array> {
  private credit = aheadMax;

  constructor(private readonly post: (message: Uint8Array) => void) {
    super();
  }

  /** Sends a message; returns whether the next one may follow now, rather than after the event `drain`. */
  write(message: Uint8Array): boolean {
    this.post(message);
    this.credit -= 1;
    return this.credit > 0;
  }

  /** Called when the consumer has taken messages. */
  grant(messages: number): void {
    const wasFull = this.credit <= 0;
    this.credit += messages;
    if (wasFull) this.emit('drain');
  }
}

/** The receiving end: what has arrived and is not consumed. */
export class Inlet implements AsyncIterableIterator<Uint8Array> {
  private readonly arrived: Uint8Array[] = [];
  private over: { readonly error?: unknown } | undefined;
  private taken = 0;
  private waiting: { resolve(result: IteratorResult<Uint8Array>): void; reject(error: unknown): void } | undefined;

  /** `grant` permits the sender more messages. */
  constructor(private readonly grant: (messages: number) => void) {}

  push(message: Uint8Array): void {
    if (this.over !== undefined) return;
    if (this.waiting === undefined) this.arrived.push(message);
    else this.settle()!.resolve(this.take(message));
  }

  /** Ends the stream after what has arrived, with an error if one is given. */
  end(failure: { readonly error?: unknown } = {}): void {
    if (this.over !== undefined) return;
    this.over = failure;
    const waiting = this.settle();
    if (waiting === undefined) return;
    if ('error' in failure) waiting.reject(failure.error);
    else waiting.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const message = this.arrived.shift();
    if (message !== undefined) return Promise.resolve(this.take(message));
    if (this.over === undefined) return new Promise((resolve, reject) => (this.waiting = { resolve, reject }));
    return 'error' in this.over ? Promise.reject(this.over.error) : Promise.resolve({ done: true, value: undefined });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.arrived.length = 0;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  private settle(): typeof this.waiting {
    const { waiting } = this;
    this.waiting = undefined;
    return waiting;
  }

  private take(message: Uint8Array): IteratorResult<Uint8Array> {
    this.taken += 1;
    // Credit is granted for half of the limit at once, so that not every message causes a frame of credit.
    if (this.taken >= aheadMax / 2) {
      this.grant(this.taken);
      this.taken = 0;
    }
    return { done: false, value: message };
  }
}
