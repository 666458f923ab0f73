// Ends work for an upstream when one of its steps takes too long, or when the work that it is part of is over.
import { abortError, AppError } from '#client/errors/app-error.js';

/** The reason for ending work that is done or no longer wanted. It is shared: every call ends with it, and creating a stack trace costs more than the rest of the teardown. */
export const callOver = new AppError('cancelled', 'The call is over.');

/** Watches one piece of work. Its signal aborts with the AppError that gives the reason. */
export class Watchdog {
  #controller: AbortController | undefined;
  readonly #onParentAbort: () => void;
  readonly #listeners: ((reason: unknown) => void)[] = [];
  #end: { readonly reason: unknown } | undefined;
  // Most steps have the same limit as the previous one, and restarting a timer costs less than replacing it.
  #timer: NodeJS.Timeout | undefined;
  #withinMs = 0;
  #expected: string | undefined;

  /** `parent` is the signal of the enclosing work; its reason is passed on as an AppError. */
  constructor(private readonly parent: AbortSignal) {
    this.#onParentAbort = () => this.end(abortError(parent));
    if (parent.aborted) this.#onParentAbort();
    else parent.addEventListener('abort', this.#onParentAbort, { once: true });
  }

  /** Returns the signal to pass to the work. It is created only if it is needed. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#end !== undefined) this.#controller.abort(this.#end.reason);
    }
    return this.#controller.signal;
  }

  /** Reports whether the work was ended. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Returns why the work was ended; undefined if it was not. */
  get reason(): unknown {
    return this.#end?.reason;
  }

  /** Calls `listener` with the reason when the work is ended, or now if it was. */
  onEnd(listener: (reason: unknown) => void): void {
    if (this.#end === undefined) this.#listeners.push(listener);
    else listener(this.#end.reason);
  }

  /** Starts the time limit of the next step. `what` completes "The upstream did not …". */
  expect(what: string, withinMs: number): void {
    this.#expected = what;
    if (this.#timer !== undefined && this.#withinMs === withinMs) return void this.#timer.refresh();
    clearTimeout(this.#timer);
    this.#withinMs = withinMs;
    this.#timer = setTimeout(() => {
      if (this.#expected !== undefined) this.end(new AppError('upstream_timeout', `The upstream did not ${this.#expected} in time.`));
    }, withinMs);
  }

  /** Ends the time limit while we keep the upstream waiting. */
  pause(): void {
    this.#expected = undefined;
  }

  /** Lets the work outlive `parent`. */
  detach(): void {
    this.parent.removeEventListener('abort', this.#onParentAbort);
  }

  /** Stops watching, because the work is done. */
  close(): void {
    clearTimeout(this.#timer);
    this.#expected = this.#timer = undefined;
    this.detach();
  }

  /** Ends the work unless it was ended before, and stops watching. */
  end(reason: unknown): void {
    this.close();
    if (this.#end !== undefined) return;
    this.#end = { reason };
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener(reason);
  }
}
