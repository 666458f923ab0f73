// Batched calls on one long-lived stream at a time: the calls that wait to be sent, the calls that wait for a result, and what
// happens to both when the stream ends.
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

/** Options of `BatchStream`. */
export interface BatchStreamOptions {
  readonly info: MethodInfo;
  readonly open: OpenStream;
  readonly caller: string;
  readonly log: BatchLog;
  /** How long one stream is used before the next one takes over; half a minute by default. */
  readonly renewMs?: number;
  /** The deadline of a call that has none of its own; 30 s by default. */
  readonly timeoutMs?: number | undefined;
}

// A connection to a name with many replicas gives each new stream to the next replica, so that within this time a new replica gets its
// share and an overloaded one is relieved.
const renewMsDefault = 30_000;
const timeoutMsDefault = 30_000;
// The pause between attempts while no server responds. It is short because the connection itself backs off, by up to a second.
const pauseMsMin = 10;
const pauseMsMax = 250;
// A stream that has received nothing for this long when a call on it times out is replaced.
const silentMsMax = 1000;
// A server that ends its stream has not begun the calls without a result, so they are sent again, up to this many times.
const sendsMax = 3;

/** Carries calls over one stream at a time, opened by the first call and, after it broke, by the next one. */
export class BatchStream implements LinkOwner {
  private waiting: PendingCall[] = [];
  private current: BatchLink | undefined;
  private readonly links = new Set<BatchLink>();
  private pause: NodeJS.Timeout | undefined;
  /** The number of streams that have ended without receiving anything since one last did. */
  private failuresInRow = 0;
  private isBroken = false;
  private openCalls = 0;
  private lastTag = 0;
  private isTurnAwaited = false;

  constructor(private readonly options: BatchStreamOptions) {}

  /**
   * Makes one call and returns its response. Raises what the method raises, overloaded when too many calls have no result yet,
   * deadline_exceeded, cancelled, and service_unavailable when the stream breaks.
   */
  call(operation: Case, context: CallContext = callContext({ caller: this.options.caller })): Promise<unknown> {
    const { signal, deadlineMs = Date.now() + (this.options.timeoutMs ?? timeoutMsDefault) } = context;
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
        // A replica that sends nothing may hang, so further calls go to a new stream, and so perhaps to another replica.
        if (pending.link?.isSilentSince(pending.sentAtMs, silentMsMax) === true) pending.link.renew();
      };
      const timer = setTimeout(onTime, Math.min(Math.max(deadlineMs - Date.now(), 0), timerMsMax));
      if (signal !== neverAborted) signal.addEventListener('abort', onAbort, { once: true });
      this.openCalls += 1;
      this.waiting.push(pending);
      // Calls that have ended are removed when a message is built, but a stalled transport requests no messages.
      if (this.waiting.length > 2 * inFlightMax) this.waiting = this.waiting.filter(({ isOver }) => !isOver);
      this.flushAfterTurn();
    });
  }

  /** Aborts the calls in flight. */
  close(): void {
    clearTimeout(this.pause);
    this.pause = undefined;
    const error = new AppError('cancelled', 'This client was closed.');
    for (const link of this.links) link.cancel(error);
    for (const pending of this.waiting.splice(0)) pending.reject(error);
  }

  take(link: BatchLink): EncodedMessage | undefined {
    const parts: Buffer[] = [];
    const [nowMs, sentAtMs] = [Date.now(), performance.now()];
    let next = 0;
    for (let bytes = 0; next < this.waiting.length && parts.length < operationsPerMessageMax && bytes < batchBytesWanted; next += 1) {
      const pending = this.waiting[next]!;
      if (pending.isOver) continue;
      const part = this.encoded(pending, nowMs);
      if (part === undefined) continue;
      // A very large call goes alone.
      if (parts.length > 0 && bytes + part.length > messageBytesMax) break;
      pending.sends += 1;
      pending.sentAtMs = sentAtMs;
      pending.link = link;
      link.inFlight.set(pending.tag, pending);
      parts.push(part);
      bytes += part.length;
    }
    this.waiting = next === this.waiting.length ? [] : this.waiting.slice(next);
    if (parts.length === 0) return undefined;
    // Concatenated messages decode as one with all of their repeated fields.
    // https://protobuf.dev/programming-guides/encoding/#last-one-wins
    return new EncodedMessage(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }

  deliver({ results }: BatchResponse, link: BatchLink): void {
    if (this.isBroken) this.options.log.info({ rpc: this.options.info.fullName }, 'the stream of operations is open again');
    this.isBroken = false;
    this.failuresInRow = 0;
    for (const result of results) {
      const pending = link.inFlight.get(result.tag);
      // Each tag has one result; another one is ignored.
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
    const left = link.inFlight.values().filter(({ isOver }) => !isOver);
    // A service that ends its stream has not begun the calls without a result: they are sent again.
    const [again, lost] =
      error === undefined ? [left.filter(({ sends }) => sends < sendsMax), left.filter(({ sends }) => sends >= sendsMax)] : [[], left];
    if (error !== undefined && left.length > 0 && !this.isBroken) {
      this.isBroken = true;
      this.options.log.warn(
        { err: error, rpc: this.options.info.fullName, operations: left.length },
        'the stream of operations broke and will be opened again',
      );
    }
    for (const pending of lost) pending.reject(this.broken(error));
    // The connection was closed: no other stream can be opened.
    if (hasReason(error, 'cancelled')) for (const pending of this.waiting.splice(0)) pending.reject(error);
    this.waiting = [...again, ...this.waiting];
    if (link.hasReceivedNothing) this.failuresInRow += 1;
    this.links.delete(link);
    this.retired(link);
  }

  /** Sends all calls of this turn of the event loop together. */
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

  /** Encodes each operation separately, so that one that cannot be encoded does not affect the others. */
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
    else pending.reject(new AppError('internal', `${this.nameOf(pending.operation)}: the service returned the result of another method.`));
  }

  /**
   * Returns the error as it is when the caller may not use the stream at all; after any other error the result of an operation is unknown.
   */
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
