// Ends work for an upstream: when a step of it takes too long, or when what it is part of is over.
import { abortError, AppError } from '#client/errors/app-error.js';

/** Why work ends that is done or no longer wanted. One for all: each call ends by it, and a stack trace costs more than the rest of outcome. */
export const callOver = new AppError('cancelled', 'The call is over.');

/** Watches one piece of work. Its signal aborts with the AppError that says why. */
export class Watchdog {
  readonly #controller = new AbortController();
  readonly #onParentAbort: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** `parent` is the signal of the whole; its reason is passed on as an AppError. */
  constructor(private readonly parent: AbortSignal) {
    this.#onParentAbort = () => this.end(abortError(parent));
    if (parent.aborted) this.#onParentAbort();
    else parent.addEventListener('abort', this.#onParentAbort, { once: true });
  }

  /** Goes to whatever does the work. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Gives the next step this long. `what` completes "The upstream did not …". */
  expect(what: string, withinMs: number): void {
    this.pause();
    this.#timer = setTimeout(() => this.end(new AppError('upstream_timeout', `The upstream did not ${what} in time.`)), withinMs);
  }

  /** Stops the clock while we are the ones who keep the upstream waiting. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Lets the work outlive what it is part of. */
  detach(): void {
    this.parent.removeEventListener('abort', this.#onParentAbort);
  }

  /** Ends the work, if it has not ended yet, and stops watching. */
  end(reason: unknown): void {
    this.pause();
    this.detach();
    this.#controller.abort(reason);
  }
}
