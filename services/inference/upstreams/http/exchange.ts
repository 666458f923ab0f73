// One request to an upstream and its response, read directly from undici's parser: its promise, body stream and abort signal would cost more than
// everything else that is done to the bytes of an answer.
import type { Dispatcher } from 'undici';
import type { Headers } from './wire.js';

/** Holds the head of a response. */
export interface Head {
  readonly status: number;
  readonly headers: Headers;
}

/** Bytes that may wait for the reader before the connection is paused. */
const waitingBytesMax = 64 * 1024;

/** Sends one request when it is passed to `dispatch`, and yields the bytes of the body; bytes that arrive together are yielded together. */
export class Exchange implements Dispatcher.DispatchHandler, AsyncIterableIterator<Uint8Array> {
  /** Resolves when the head has arrived. Rejects with the transport's error or the reason of `abort`. */
  readonly head: Promise<Head>;
  #resolveHead!: (head: Head) => void;
  #rejectHead!: (error: unknown) => void;
  /** Leads to the body of the request, so it is kept only until the exchange ends: V8 may keep an ended exchange until a whole collection. */
  #controller: Dispatcher.DispatchController | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Resolves the promise that the reader waits for. */
  #resolveNext: ((next: Promise<IteratorResult<Uint8Array>>) => void) | undefined;
  #hasEnded = false;
  #failure: { readonly error: unknown } | undefined;

  constructor() {
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
  }

  /** Reports whether bytes of the body wait for the reader. */
  get hasBody(): boolean {
    return this.#waitingBytes > 0;
  }

  /** Ends the exchange unless it has ended. What waits to be read is dropped, and the reader gets `reason` as the error. */
  abort(reason: unknown): void {
    if (this.#hasEnded || this.#failure !== undefined) return;
    this.#waiting = [];
    const controller = this.#controller;
    this.#fail(reason);
    controller?.abort(reason as Error);
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const [first] = this.#waiting;
    if (first !== undefined) {
      const value = this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting, this.#waitingBytes);
      this.#waiting = [];
      this.#waitingBytes = 0;
      if (this.#controller?.paused === true) this.#controller.resume();
      return Promise.resolve({ done: false, value });
    }
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#hasEnded) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => (this.#resolveNext = resolve));
  }

  /** Ends the exchange when its reader needs no more. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.abort(new Error('The rest of the answer is not needed.'));
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Aborted while it waited for a connection.
    if (this.#failure !== undefined) controller.abort(this.#failure.error as Error);
    else this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: object): void {
    // Informational responses come before the one that counts.
    if (status < 200) return;
    // Otherwise undici keeps the raw headers until the response has ended: two kilobytes per open stream.
    controller.rawHeaders = null;
    this.#resolveHead({ status, headers: headers as Headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes >= waitingBytesMax) controller.pause();
    this.#wake();
  }

  onResponseEnd(): void {
    this.#hasEnded = true;
    this.#controller = undefined;
    this.#wake();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (!this.#hasEnded && this.#failure === undefined) this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#failure = { error };
    this.#controller = undefined;
    this.#rejectHead(error);
    this.#wake();
  }

  #wake(): void {
    const resolve = this.#resolveNext;
    if (resolve === undefined) return;
    this.#resolveNext = undefined;
    // The parser calls back for each chunk of what it has read; the reader gets them together, after the last.
    queueMicrotask(() => resolve(this.next()));
  }
}
