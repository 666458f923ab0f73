// Ends work for an upstream when one of its steps takes too long, or when the work that it is part of is over.
import { abortError, AppError } from '#client/errors/app-error.js';

/** The reason for ending work that is done or no longer wanted. It is shared: every call ends with it, and creating a stack trace costs more than the rest of the teardown. */
export const callOver = new AppError('cancelled', 'The call is over.');

/** Watches one piece of work. Its signal aborts with the AppError that gives the reason. */
export class Watchdog {
  readonly #controller = new AbortController();
  readonly #onParentAbort: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** `parent` is the signal of the enclosing work; its reason is passed on as an AppError. */
  constructor(private readonly parent: AbortSignal) {
    this.#onParentAbort = () => this.end(abortError(parent));
    if (parent.aborted) this.#onParentAbort();
    else parent.addEventListener('abort', this.#onParentAbort, { once: true });
  }

  /** Returns the signal to pass to the work. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time limit of the next step. `what` completes "The upstream did not …". */
  expect(what: string, withinMs: number): void {
    this.pause();
    this.#timer = setTimeout(() => this.end(new AppError('upstream_timeout', `The upstream did not ${what} in time.`)), withinMs);
  }

  /** Stops the timer while we keep the upstream waiting. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Lets the work outlive `parent`. */
  detach(): void {
    this.parent.removeEventListener('abort', this.#onParentAbort);
  }

  /** Ends the work if it has not ended yet, and stops watching. */
  end(reason: unknown): void {
    this.pause();
    this.detach();
    this.#controller.abort(reason);
  }
}
