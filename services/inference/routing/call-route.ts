// The way of one call through the targets of its model: which one is tried now, and which one next.
import type { AppError } from '#client/errors/app-error.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { noTarget, type ResolvedTarget } from '../upstreams/registry.js';
import { chooseTarget } from './choose-target.js';
import type { KnownTarget, Router } from './router.js';
import type { AttemptTicket } from './target-health.js';
import { isRetryable, pauseBeforeRetry, type Verdict, verdictOf } from './verdict.js';

/** The next attempt of a call. */
export interface NextAttempt {
  readonly resolved: ResolvedTarget;
  /** How long to wait before it. */
  readonly pauseMs: number;
}

/** Routes one call. */
export class CallRoute {
  readonly #known: readonly KnownTarget[];
  /** The positions that have not been tried. */
  readonly #untried: number[];
  #current = 0;
  #ticket: AttemptTicket | undefined;
  #hasRepeated = false;

  /** `targets` must not be empty. Raises model_unavailable if all of them are drained. */
  constructor(
    private readonly router: Router,
    private readonly targets: readonly ResolvedTarget[],
  ) {
    this.#known = targets.map(({ target }) => router.find(target));
    this.#untried = targets.map((_target, position) => position).filter((position) => !this.#known[position]!.isDrained);
    if (this.#untried.length === 0) throw noTarget();
    this.#known[0]!.budget.noteCall(router.deps.clock.monotonicMs());
  }

  /** Returns the target to try first. */
  first(): ResolvedTarget {
    return this.targets[this.#choose()!]!;
  }

  /** Begins an attempt at the target that was chosen last. */
  begin(): void {
    this.#ticket = this.#health.begin(this.router.deps.clock.monotonicMs());
  }

  /** Notes that the answer began. One that arrived whole is never late: its time depends on its length. */
  answered(isWhole: boolean): void {
    if (this.#ticket === undefined) return;
    const slowMs = isWhole ? Number.POSITIVE_INFINITY : this.targets[this.#current]!.upstream.slowFirstTokenMs;
    this.router.answered(this.#known[this.#current]!, this.#ticket, slowMs, this.#known);
  }

  /** Notes that the answer is complete. */
  succeed(): void {
    this.#conclude('success', undefined);
  }

  /** Notes that the attempt failed. */
  fail(error: unknown): void {
    this.#conclude(verdictOf(error), error);
  }

  /** Notes that the attempt ended without a verdict, unless it has one. */
  end(): void {
    this.#conclude('none', undefined);
  }

  /**
   * Returns the attempt to make after one that failed with this error; undefined if there is none to make: the request itself is at fault, all
   * targets have failed, or the model's budget for retries is used up. `hasStatus` tells whether the vendor responded.
   */
  next(error: unknown, hasStatus: boolean): NextAttempt | undefined {
    const { clock, metrics, random } = this.router.deps;
    if (!isRetryable(error)) return undefined;
    const pauseMs = this.#untried.length > 0 ? 0 : this.#pauseBeforeRepeat(error, hasStatus);
    if (pauseMs === undefined) return undefined;
    // A target that was skipped because its format cannot express the request was not called.
    const isCall = (error as AppError).reason !== 'unsupported_field';
    if (isCall && !this.#known[0]!.budget.take(clock.monotonicMs())) {
      metrics.countRetry(this.#known[this.#current]!.upstreamId, false);
      return undefined;
    }
    if (this.#untried.length > 0) this.#choose();
    else this.#hasRepeated = true;
    if (isCall) metrics.countRetry(this.#known[this.#current]!.upstreamId, true);
    return { resolved: this.targets[this.#current]!, pauseMs: pauseMs * (1 + random() / 2) };
  }

  get #health() {
    return this.#known[this.#current]!.health;
  }

  /** Returns the pause before the only target of the model is tried a second time; undefined if it is not. */
  #pauseBeforeRepeat(error: unknown, hasStatus: boolean): number | undefined {
    const [only] = this.targets;
    // The sandbox fails on purpose.
    if (this.targets.length > 1 || this.#hasRepeated || only!.upstream.format === ApiFormat.API_FORMAT_SANDBOX) return undefined;
    return pauseBeforeRetry(error, hasStatus, this.router.deps.config.retryPauseMs);
  }

  #conclude(verdict: Verdict, error: unknown): void {
    const ticket = this.#ticket;
    if (ticket === undefined) return;
    this.#ticket = undefined;
    this.router.conclude(this.#known[this.#current]!, ticket, verdict, error, this.#known);
  }

  /** Takes the next target out of the untried ones. */
  #choose(): number | undefined {
    if (this.#untried.length < 2) {
      const [only] = this.#untried.splice(0);
      return only === undefined ? undefined : (this.#current = only);
    }
    const nowMs = this.router.deps.clock.monotonicMs();
    const candidates = this.#untried.map((position) => {
      const { priority = position, weight = 1 } = this.targets[position]!.target;
      const { health } = this.#known[position]!;
      return { position, priority, weight, untilMs: health.untilMs, standing: health.standing(nowMs) };
    });
    const { position } = chooseTarget(candidates, this.router.deps.random)!;
    this.#untried.splice(this.#untried.indexOf(position), 1);
    return (this.#current = position);
  }
}
