// Small calls on their way through one long-lived stream at a time: what waits to be sent, what waits for its result, and what
// becomes of either when the stream ends.
import type { Status } from '#google/rpc/status.js';
import { abortError, AppError, hasReason, internalMessage, toAppError } from '../errors/app-error.js';
import { fromRpcStatus } from '../errors/rpc-status.js';
import {
  type BatchResult,
  type BatchResponse,
  batchBytesWanted,
  type Case,
  inFlightMax,
  operationsPerMessageMax,
} from './batch-contract.js';
import { BatchLink, type LinkOwner, type OpenStream, type PendingCall } from './batch-link.js';
import { type CallContext, callContext, neverAborted, timerMsMax } from '../call-context.js';
import { EncodedMessage, encodeRequest, messageBytesMax } from '../codec.js';
import type { MethodInfo } from '../definition.js';
import { activeTraceparent } from '../traceparent.js';

/** Where a stream reports that it broke and that it works again; a pino logger has this form. */
export interface BatchLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What a stream is made of. */
export interface BatchStreamOptions {
  readonly info: MethodInfo;
  readonly open: OpenStream;
  readonly caller: string;
  readonly log: BatchLog;
  /** How long one stream serves before the next one takes over; half a minute unless told. */
  readonly renewMs?: number;
}

// A connection to a name with many replicas gives each new stream to the next of them, so that a replica which has come gets its
// share, and one that is crowded is left, within this time.
const renewMsDefault = 30_000;
const timeoutMsDefault = 30_000;
// Between tries while nobody answers. Short, because the connection has pauses of its own, up to a second.
const pauseMsMin = 10;
const pauseMsMax = 250;
// A stream on which nothing came for so long when a call on it ran out of time is followed by another.
const muteMsMax = 1000;
// A server that ends its stream has not begun what it has not answered; one that does so again and again is no use.
const sendsMax = 3;

/** Carries calls over one stream at a time, opened by the first call and again by the next one after it broke. */
export class BatchStream implements LinkOwner {
  private waiting: PendingCall[] = [];
  private current: BatchLink | undefined;
  private readonly links = new Set<BatchLink>();
  private pause: NodeJS.Timeout | undefined;
  /** Tries since a stream last answered anything. */
  private failuresInRow = 0;
  private isBroken = false;
  private openCalls = 0;
  private lastTag = 0;
  private isTurnAwaited = false;

  constructor(private readonly options: BatchStreamOptions) {}

  /** The response of one call. */
  call(operation: Case, context: CallContext = callContext({ caller: this.options.caller })): Promise<unknown> {
    const { signal, deadlineMs = Date.now() + timeoutMsDefault } = context;
    if (signal.aborted) return Promise.reject(abortError(signal));
    if (this.openCalls >= inFlightMax) {
      return Promise.reject(
        new AppError('overloaded', `Too many calls wait for ${this.options.info.fullName}; nothing was done.`, { retryAfterMs: 1000 }),
      );
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => pending.reject(abortError(signal));
      const end = (): boolean => {
        if (pending.isOver) return false;
        pending.isOver = true;
        this.openCalls -= 1;
        clearTimeout(timer);
        if (signal !== neverAborted) signal.removeEventListener('abort', onAbort);
        return true;
      };
      const pending: PendingCall = {
        operation,
        deadlineMs,
        traceparent: activeTraceparent(),
        tag: 0,
        sends: 0,
        sentAtMs: 0,
        link: undefined,
        isOver: false,
        resolve: (response) => void (end() && resolve(response)),
        reject: (error) => void (end() && reject(error)),
      };
      const onTime = (): void => {
        pending.reject(new AppError('deadline_exceeded', `${this.nameOf(operation)}: the service did not answer in time.`));
        // Who says nothing at all may hang; another replica may not.
        if (pending.link?.isMuteSince(pending.sentAtMs, muteMsMax) === true) pending.link.renew();
      };
      const timer = setTimeout(onTime, Math.min(Math.max(deadlineMs - Date.now(), 0), timerMsMax));
      if (signal !== neverAborted) signal.addEventListener('abort', onAbort, { once: true });
      this.openCalls += 1;
      this.waiting.push(pending);
      // What is over leaves its place when a message is made, which a transport that stalls does not ask for.
      if (this.waiting.length > 2 * inFlightMax) this.waiting = this.waiting.filter(({ isOver }) => !isOver);
      this.flushAfterTurn();
    });
  }

  /** Breaks off what is under way. */
  close(): void {
    clearTimeout(this.pause);
    this.pause = undefined;
    const error = new AppError('cancelled', 'This client was closed.');
    for (const link of this.links) link.breakOff(error);
    for (const pending of this.waiting.splice(0)) pending.reject(error);
  }

  take(link: BatchLink): EncodedMessage | undefined {
    const parts: Buffer[] = [];
    const nowMs = Date.now();
    let next = 0;
    for (let bytes = 0; next < this.waiting.length && parts.length < operationsPerMessageMax && bytes < batchBytesWanted; next += 1) {
      const pending = this.waiting[next]!;
      if (pending.isOver) continue;
      const part = this.encoded(pending, nowMs);
      if (part === undefined) continue;
      // A very large one goes alone.
      if (parts.length > 0 && bytes + part.length > messageBytesMax) break;
      pending.sends += 1;
      pending.sentAtMs = nowMs;
      pending.link = link;
      link.inFlight.set(pending.tag, pending);
      parts.push(part);
      bytes += part.length;
    }
    this.waiting = next === this.waiting.length ? [] : this.waiting.slice(next);
    if (parts.length === 0) return undefined;
    // Messages one after the other are one with all of their repeated fields.
    // https://protobuf.dev/programming-guides/encoding/#last-one-wins
    return new EncodedMessage(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }

  deliver({ results }: BatchResponse, link: BatchLink): void {
    if (this.isBroken) this.options.log.info({ rpc: this.options.info.fullName }, 'the stream of operations is open again');
    this.isBroken = false;
    this.failuresInRow = 0;
    for (const result of results) {
      const pending = link.inFlight.get(result.tag);
      // Unknown for a caller that has not waited.
      if (pending === undefined) continue;
      link.inFlight.delete(result.tag);
      this.settle(pending, result);
    }
  }

  retired(link: BatchLink): void {
    if (this.current === link) this.current = undefined;
    if (this.waiting.length > 0) this.flushAfterTurn();
  }

  ended(link: BatchLink, error: unknown): void {
    const left = [...link.inFlight.values()].filter(({ isOver }) => !isOver);
    // What a service that ends its stream has not answered it has not begun: it is asked again.
    const [again, lost] =
      error === undefined ? [left.filter(({ sends }) => sends < sendsMax), left.filter(({ sends }) => sends >= sendsMax)] : [[], left];
    if (error !== undefined && left.length > 0 && !this.isBroken) {
      this.isBroken = true;
      this.options.log.warn(
        { err: error, rpc: this.options.info.fullName, operations: left.length },
        'the stream of operations broke; it is opened again',
      );
    }
    for (const pending of lost) pending.reject(this.broken(error));
    this.waiting = [...again, ...this.waiting];
    if (link.isFruitless) this.failuresInRow += 1;
    this.links.delete(link);
    this.retired(link);
  }

  /** All that is called in this turn of the event loop goes together. */
  private flushAfterTurn(): void {
    if (this.isTurnAwaited) return;
    this.isTurnAwaited = true;
    setImmediate(() => {
      this.isTurnAwaited = false;
      if (this.current !== undefined) this.current.wake();
      else this.openSoon();
    });
  }

  private openSoon(): void {
    if (this.failuresInRow === 0) return this.openLink();
    const pauseMs = Math.min(pauseMsMax, pauseMsMin * 2 ** (this.failuresInRow - 1));
    this.pause ??= setTimeout(
      () => {
        this.pause = undefined;
        this.waiting = this.waiting.filter(({ isOver }) => !isOver);
        if (this.waiting.length > 0 && this.current === undefined) this.openLink();
      },
      pauseMs * (0.5 + Math.random() / 2),
    );
  }

  private openLink(): void {
    this.current = new BatchLink(this, this.options, this.options.renewMs ?? renewMsDefault);
    this.links.add(this.current);
    this.current.start();
  }

  /** Its bytes, encoded by itself, so that one which cannot be encoded spoils no other. */
  private encoded(pending: PendingCall, nowMs: number): Buffer | undefined {
    const { operation, traceparent, deadlineMs } = pending;
    this.lastTag = (this.lastTag + 1) >>> 0;
    pending.tag = this.lastTag;
    try {
      const timeoutMs = Math.min(Math.max(Math.ceil(deadlineMs - nowMs), 0), timerMsMax);
      return encodeRequest(this.options.info, { operations: [{ tag: pending.tag, timeoutMs, traceparent, operation }] });
    } catch (error) {
      pending.reject(toAppError(error));
      return undefined;
    }
  }

  private settle(pending: PendingCall, { result }: BatchResult): void {
    if (result?.$case === pending.operation.$case) pending.resolve(result.value);
    else if (result?.$case === 'error') pending.reject(fromRpcStatus(result.value as Status) ?? new AppError('internal', internalMessage));
    else pending.reject(new AppError('internal', `${this.nameOf(pending.operation)}: the service answered something else.`));
  }

  /** Who may not use the stream at all is told so; anything else leaves unknown what became of an operation. */
  private broken(error: unknown): AppError {
    if (hasReason(error, 'unimplemented', 'peer_not_permitted', 'cancelled')) return error;
    return new AppError('service_unavailable', `${this.options.info.fullName}: the stream broke; the result is unknown.`, {
      cause: error,
    });
  }

  private nameOf({ $case }: Case): string {
    return `${this.options.info.fullName} (${$case})`;
  }
}
