// One stream of operations from its opening to its end.
import { AppError } from '../errors/app-error.js';
import type { BatchResponse, Case } from './batch-contract.js';
import { type CallContext, callContext } from '../call-context.js';
import { InFlight } from '../in-flight.js';
import { untraced } from '../traceparent.js';

/** Opens a stream. */
export type OpenStream = (requests: AsyncIterable<unknown>, context: CallContext) => AsyncIterable<BatchResponse>;

/** A call without its result. */
export interface PendingCall {
  readonly operation: Case;
  readonly deadlineMs: number;
  readonly traceparent: string;
  tag: number;
  sends: number;
  /** When (by `performance.now()`), and on which link, it was last sent. */
  sentAtMs: number;
  link: BatchLink | undefined;
  isOver: boolean;
  /** Ends the call, as `reject` does. Neither has an effect on a call that has ended. */
  readonly resolve: (response: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The owner of the calls that a link carries. */
export interface LinkOwner {
  /** Returns the next message of waiting calls, which are then in flight on the link; undefined when none wait. */
  take(link: BatchLink): unknown;
  /** Called when results have arrived. */
  deliver(response: BatchResponse, link: BatchLink): void;
  /** Called when the link accepts no more calls. */
  retired(link: BatchLink): void;
  /** Called when the link has ended: without an error if the service ended the stream, otherwise the results of its calls are unknown. */
  ended(link: BatchLink, error: unknown): void;
}

/** Sends its owner's waiting calls as fast as the transport accepts them, and returns the results. */
export class BatchLink implements AsyncIterator<unknown> {
  /** The calls in flight, by tag. */
  readonly inFlight = new InFlight<PendingCall>();
  /** Whether no response has arrived on it so far. */
  hasReceivedNothing = true;
  /** When a response last arrived; 0: never. */
  private lastMessageAtMs = 0;
  private readonly abort = new AbortController();
  private isClosing = false;
  private wakeSender: (() => void) | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly owner: LinkOwner,
    private readonly options: { open: OpenStream; caller: string },
    private readonly renewMs: number,
  ) {}

  /** Opens the stream and reads it to its end, outside every trace: it belongs to no single call. */
  start(): void {
    // Jittered, so that processes that started together do not change streams together.
    this.timer = setTimeout(() => this.renew(), this.renewMs * (0.75 + Math.random() / 2)).unref();
    untraced(() => void this.run());
  }

  /** Called when calls wait to be sent. */
  wake(): void {
    this.wakeSender?.();
  }

  /** Reports whether nothing has arrived for at least `forMs`, counted from `sinceMs` or from the last response, whichever is later. */
  isSilentSince(sinceMs: number, forMs: number): boolean {
    return performance.now() - Math.max(sinceMs, this.lastMessageAtMs) >= forMs;
  }

  /** Ends the stream immediately. */
  cancel(reason: unknown): void {
    this.abort.abort(reason);
  }

  /** Called by the transport: returns the next message once there is one. */
  async next(): Promise<IteratorResult<unknown>> {
    for (;;) {
      const message = this.isClosing ? undefined : this.owner.take(this);
      if (message !== undefined) return { done: false, value: message };
      if (this.isClosing) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.wakeSender = resolve));
    }
  }

  /** Called by the transport when it sends no more. */
  async return(): Promise<IteratorResult<unknown>> {
    this.isClosing = true;
    this.wake();
    return { done: true, value: undefined };
  }

  private async run(): Promise<void> {
    let failure: unknown;
    try {
      const context = callContext({ caller: this.options.caller, signal: this.abort.signal });
      for await (const response of this.options.open({ [Symbol.asyncIterator]: () => this }, context)) {
        this.hasReceivedNothing = false;
        this.lastMessageAtMs = performance.now();
        this.owner.deliver(response, this);
      }
    } catch (error) {
      failure = error ?? new Error('The stream failed.');
    }
    clearTimeout(this.timer);
    this.isClosing = true;
    this.wake();
    this.owner.ended(this, failure);
  }

  /** Stops sending, so that the service sends the remaining results and ends the stream. Aborts a stream that does not end within `renewMs`. */
  renew(): void {
    if (this.isClosing) return;
    clearTimeout(this.timer);
    this.owner.retired(this);
    this.isClosing = true;
    this.wake();
    this.timer = setTimeout(
      () => this.cancel(new AppError('service_unavailable', 'The service did not end a stream that the client was replacing.')),
      this.renewMs,
    ).unref();
  }
}
