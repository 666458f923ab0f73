// One call of a local client while it runs: its cancellation and its deadline, which gRPC handles for remote calls.
import { abortError, AppError } from '#client/errors/app-error.js';
import { type CallContext, callContext, consumerLeft, neverAborted, timerMsMax } from '#client/call-context.js';

/** A call that ends when its caller cancels, when its deadline passes, or when it is closed. */
export class LocalCall {
  /** The signal for the serving side. */
  readonly context: CallContext;
  /** Set when the caller's own requests have failed. */
  ownFailure: { readonly error: unknown } | undefined;
  private readonly abort = new AbortController();
  private readonly outer: CallContext;
  private readonly onAbort = (): void => this.end(abortError(this.outer.signal));
  private timer: NodeJS.Timeout | undefined;
  private ended: unknown;
  private failPending: ((error: unknown) => void) | undefined;

  /** `caller` overrides the caller in the context. Raises deadline_exceeded or cancelled for a context that has ended. */
  constructor(rpc: string, caller: string, given: CallContext | undefined) {
    this.outer = given ?? callContext({ caller });
    const { signal, deadlineMs, actorToken } = this.outer;
    if (signal.aborted) throw abortError(signal);
    if (signal !== neverAborted) signal.addEventListener('abort', this.onAbort, { once: true });
    if (deadlineMs !== undefined) {
      const onTime = (): void => this.end(new AppError('deadline_exceeded', `${rpc}: the service did not answer in time.`));
      this.timer = setTimeout(onTime, Math.min(Math.max(deadlineMs - Date.now(), 0), timerMsMax));
    }
    this.context = {
      caller,
      signal: this.abort.signal,
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      ...(actorToken === undefined ? {} : { actorToken }),
    };
  }

  /** Returns the outcome of a step of the service, or rejects when the call ends first. */
  step<T>(begin: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.ended !== undefined) return reject(this.ended);
      this.failPending = reject;
      return begin().then(resolve, reject);
    });
  }

  /** Ends the call because the caller's own requests failed: the caller gets that error, the service sees a disconnect. */
  giveUp(error: unknown): void {
    this.ownFailure = { error };
    this.ended = error;
    this.abort.abort(consumerLeft);
    this.failPending?.(error);
  }

  /** Ends the call; a service that is still running learns that its consumer disconnected. */
  close(isDone: boolean): void {
    clearTimeout(this.timer);
    if (this.outer.signal !== neverAborted) this.outer.signal.removeEventListener('abort', this.onAbort);
    if (!isDone && this.ended === undefined) this.abort.abort(consumerLeft);
  }

  private end(error: AppError): void {
    this.ended = error;
    this.abort.abort(error);
    this.failPending?.(error);
  }
}
