// The responses of a call that streams them, read directly from the channel: through grpc-js's stream and its iterator, a call with two responses costs
// a third more CPU on both sides together.
import { type ChannelInterface, type Metadata, type ServiceError, status as grpcStatus } from '@grpc/grpc-js';

/** How a call ended. */
type EndOfCall = Pick<ServiceError, 'code' | 'details' | 'metadata'>;

/** A call to begin. */
export interface StreamedCall {
  readonly channel: ChannelInterface;
  readonly path: string;
  readonly message: Buffer;
  readonly metadata: Metadata;
  /** Epoch milliseconds; absent: none. */
  readonly deadlineMs: number | undefined;
  readonly signal: AbortSignal;
  readonly decode: (bytes: Buffer) => unknown;
  /** Returns the error to raise when the call has failed. */
  readonly failure: (error: ServiceError) => unknown;
}

interface Waiter {
  resolve(result: IteratorResult<unknown, undefined>): void;
  reject(error: unknown): void;
}

// This many responses are read before the consumer requests them, as by grpc-js's stream: an error discards those that are not.
const readAheadMax = 16;
const over = { done: true, value: undefined } as const;

/** Reads one call, which begins at the first request for a response. A consumer requests one response after another. */
export class ResponseReader implements AsyncIterableIterator<unknown, undefined> {
  readonly #begin: () => StreamedCall;
  #open: StreamedCall | undefined;
  #call: ReturnType<ChannelInterface['createCall']> | undefined;
  readonly #arrived: Buffer[] = [];
  #waiter: Waiter | undefined;
  #isReading = false;
  #end: EndOfCall | undefined;
  #isOver = false;

  constructor(begin: () => StreamedCall) {
    this.#begin = begin;
  }

  next(): Promise<IteratorResult<unknown, undefined>> {
    return new Promise((resolve, reject) => {
      if (this.#waiter !== undefined) throw new Error('A response was requested while another one was awaited.');
      this.#waiter = { resolve, reject };
      try {
        if (!this.#isOver) this.#start();
        this.#serve();
      } catch (error) {
        this.#waiter = undefined;
        this.#leave();
        reject(error);
      }
    });
  }

  return(): Promise<IteratorResult<unknown, undefined>> {
    this.#leave();
    return Promise.resolve(over);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #start(): void {
    if (this.#open !== undefined) return;
    const open = (this.#open = this.#begin());
    const call = open.channel.createCall(open.path, open.deadlineMs ?? Infinity, null, null, null);
    this.#call = call;
    open.signal.addEventListener('abort', this.#cancel, { once: true });
    call.start(open.metadata, {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (bytes: Buffer) => {
        this.#isReading = false;
        this.#arrived.push(bytes);
        this.#serve();
      },
      onReceiveStatus: (end) => {
        this.#end = end;
        open.signal.removeEventListener('abort', this.#cancel);
        this.#serve();
      },
    });
    call.sendMessageWithContext({}, open.message);
    call.halfClose();
  }

  /** Gives the waiting consumer what there is, and reads on. */
  #serve(): void {
    const waiter = this.#waiter;
    if (waiter !== undefined) {
      const bytes = this.#arrived.shift();
      if (this.#isOver) this.#answer(() => over);
      else if (bytes !== undefined) this.#answer(() => ({ done: false, value: this.#open!.decode(bytes) }));
      else if (this.#end !== undefined) this.#answer(() => this.#ended(this.#end!));
    }
    if (this.#isReading || this.#isOver || this.#end !== undefined || this.#arrived.length >= readAheadMax) return;
    this.#isReading = true;
    this.#call!.startRead();
  }

  #answer(result: () => IteratorResult<unknown, undefined>): void {
    const waiter = this.#waiter!;
    this.#waiter = undefined;
    try {
      waiter.resolve(result());
    } catch (error) {
      this.#leave();
      waiter.reject(error);
    }
  }

  #ended({ code, details, metadata }: EndOfCall): typeof over {
    this.#isOver = true;
    if (code === grpcStatus.OK) return over;
    throw this.#open!.failure(Object.assign(new Error(`${code} ${grpcStatus[code]}: ${details}`), { code, details, metadata }));
  }

  /** Cancels the call, unless it has ended. */
  #leave(): void {
    this.#isOver = true;
    this.#open?.signal.removeEventListener('abort', this.#cancel);
    if (this.#end === undefined) this.#cancel();
    if (this.#waiter !== undefined) this.#answer(() => over);
  }

  readonly #cancel = (): void => this.#call?.cancelWithStatus(grpcStatus.CANCELLED, 'The caller left.');
}
