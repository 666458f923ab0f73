// One call of a local client while it runs: its cancellation and its deadline, which gRPC handles for remote calls.
import { abortError, AppError } from '#client/errors/app-error.js';
import { type CallContext, callContext, consumerDisconnected, neverAborted, timerMsMax } from '#client/call-context.js';

/**
 * A call that ends when its caller cancels, when its deadline passes, or when it is closed. It is also the context that the serving side sees. Its signal is
 * created when it is first read, because most calls end before anything reads it.
 */
export class LocalCall implements CallContext {
  declare readonly actorToken?: string;
  /** The deadline for the serving side. */
  declare deadlineMs?: number;
  declare onProvisional?: (response: unknown) => void;
  /** Called once when the signal aborts, or would if it had been created. Costs less than a listener of the signal. */
  onAbort: ((reason: AppError) => void) | undefined;
  /** Set when the caller's own requests have failed. */
  ownFailure: { readonly error: unknown } | undefined;
  /** Set when the serving side has used up its own time, which ends before that of its caller. */
  late: AppError | undefined;
  #controller: AbortController | undefined;
  readonly #outer: CallContext;
  readonly #onOuterAbort: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** How much earlier the deadline of the serving side is than that of the caller. */
  #reservedMs = 0;
  #lateError: (() => AppError) | undefined;
  #ended: unknown;
  #reason: AppError | undefined;
  #failPending: ((error: unknown) => void) | undefined;

  /** `caller` overrides the caller in the context. Raises deadline_exceeded or cancelled for a context that has ended. */
  constructor(
    private readonly rpc: string,
    readonly caller: string,
    given: CallContext | undefined,
  ) {
    const outer = (this.#outer = given ?? callContext({ caller }));
    const { signal, deadlineMs, actorToken } = outer;
    if (signal.aborted) throw abortError(signal);
    if (deadlineMs !== undefined) this.deadlineMs = deadlineMs;
    if (actorToken !== undefined) this.actorToken = actorToken;
    if (signal === neverAborted) return;
    this.#onOuterAbort = () => this.cancel(abortError(signal));
    signal.addEventListener('abort', this.#onOuterAbort, { once: true });
  }

  /** The signal for the serving side. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why the signal has aborted, or would have if it had been created; undefined while the call is in progress. */
  get endedBy(): AppError | undefined {
    return this.#reason;
  }

  /** Ends the serving side's time this much before the caller's, with this error. */
  reserve(ms: number, late: () => AppError): void {
    this.#reservedMs = ms;
    this.deadlineMs! -= ms;
    this.#lateError = late;
    this.#startTimer();
  }

  /** Returns the outcome of a step of the service, or rejects when the call ends first. */
  step<T>(begin: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      this.#failPending = reject;
      const outcome = begin().then(resolve, reject);
      // The step has begun and may have started the timer, by `reserve`.
      if (this.#timer === undefined && this.deadlineMs !== undefined) this.#startTimer();
      return outcome;
    });
  }

  /** Ends the call with this error. */
  cancel(error: AppError): void {
    this.#ended = error;
    this.#abort(error);
    this.#failPending?.(error);
  }

  /** Ends the call because the caller's own requests failed: the caller gets that error, the service sees a disconnect. */
  giveUp(error: unknown): void {
    this.ownFailure = { error };
    this.#ended = error;
    this.#abort(consumerDisconnected);
    this.#failPending?.(error);
  }

  /** Ends the call; a service that is still running learns that its consumer disconnected. */
  close(isDone: boolean): void {
    clearTimeout(this.#timer);
    if (this.#onOuterAbort !== undefined) this.#outer.signal.removeEventListener('abort', this.#onOuterAbort);
    if (!isDone && this.#ended === undefined) this.#abort(consumerDisconnected);
  }

  #startTimer(): void {
    clearTimeout(this.#timer);
    const leftMs = Math.min(Math.max(this.deadlineMs! - Date.now(), 0), timerMsMax);
    this.#timer = setTimeout(() => this.#onTime(), leftMs);
  }

  #onTime(): void {
    if (this.#lateError !== undefined && this.late === undefined) {
      this.late = this.#lateError();
      this.#abort(this.late);
      this.#timer = setTimeout(() => this.#onTime(), this.#reservedMs);
      return;
    }
    this.cancel(new AppError('deadline_exceeded', `${this.rpc}: the service did not answer in time.`));
  }

  #abort(reason: AppError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.onAbort?.(reason);
  }
}
