// One stream of operations from its opening to its end.
import { AppError } from '../errors/app-error.js';
import type { BatchResponse, Case } from './batch-contract.js';
import { type CallContext, callContext } from '../call-context.js';
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
  /** When and on what it was last sent. */
  sentAtMs: number;
  link: BatchLink | undefined;
  isOver: boolean;
  /** Ends the call, once; later ends do nothing. */
  readonly resolve: (response: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Whose calls a link carries. */
export interface LinkOwner {
  /** The next message, of what waits; undefined when nothing does. Its calls are in flight on the link then. */
  take(link: BatchLink): unknown;
  /** Outcomes have come. */
  deliver(response: BatchResponse, link: BatchLink): void;
  /** The link takes no more calls. */
  retired(link: BatchLink): void;
  /** The link has ended: by itself when there is no error, and else with the result of what it carried unknown. */
  ended(link: BatchLink, error: unknown): void;
}

/** Sends what its owner has waiting as fast as the transport takes it, and hands back what comes. */
export class BatchLink implements AsyncIterator<unknown> {
  /** By their tags. */
  readonly inFlight = new Map<number, PendingCall>();
  /** Whether nothing has come of it so far. */
  isFruitless = true;
  /** When something last came. */
  private heardAtMs = 0;
  private readonly abort = new AbortController();
  private isClosing = false;
  private wakeSender: (() => void) | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly owner: LinkOwner,
    private readonly options: { open: OpenStream; caller: string },
    private readonly renewMs: number,
  ) {}

  /** Opens the stream and follows it to its end, outside of every trace: it belongs to no single call. */
  start(): void {
    // Spread, so that processes which started together do not change streams together.
    this.timer = setTimeout(() => this.renew(), this.renewMs * (0.75 + Math.random() / 2)).unref();
    untraced(() => void this.run());
  }

  /** Something waits to be sent. */
  wake(): void {
    this.wakeSender?.();
  }

  /** Whether nothing has come for so long since that instant. */
  isMuteSince(sinceMs: number, forMs: number): boolean {
    return Date.now() - Math.max(sinceMs, this.heardAtMs) >= forMs;
  }

  /** Ends the stream at once. */
  breakOff(reason: unknown): void {
    this.abort.abort(reason);
  }

  /** For the transport: the next message once there is one. */
  async next(): Promise<IteratorResult<unknown>> {
    for (;;) {
      const message = this.isClosing ? undefined : this.owner.take(this);
      if (message !== undefined) return { done: false, value: message };
      if (this.isClosing) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.wakeSender = resolve));
    }
  }

  /** For the transport: it sends no more. */
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
        this.isFruitless = false;
        this.heardAtMs = Date.now();
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

  /** Sends no more; the service answers what it has and ends the stream. One that does not is cut after the same time again. */
  renew(): void {
    if (this.isClosing) return;
    clearTimeout(this.timer);
    this.owner.retired(this);
    this.isClosing = true;
    this.wake();
    this.timer = setTimeout(
      () => this.breakOff(new AppError('service_unavailable', 'The service did not end a stream that was to be renewed.')),
      this.renewMs,
    ).unref();
  }
}
