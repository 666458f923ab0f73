// The way of one call through the targets of its model: which one is tried now, and which one next.
import type { AppError } from '#client/errors/app-error.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { noTarget, type ResolvedTarget } from '../upstreams/registry.js';
import type { UpstreamCredential } from '../upstreams/credentials.js';
import { type Candidate, chooseTarget } from './choose-target.js';
import type { KnownCredential, KnownTarget, RoutedAttempt, Router } from './router.js';
import type { Standing } from './target-health.js';
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
  /** The positions that have not been tried, or that have further credentials to try. */
  readonly #untried: number[];
  #current = 0;
  /** The credential of the next attempt, if its upstream has several. */
  #credential: KnownCredential | undefined;
  /** The credentials that the vendor refused in this call. */
  #refused: Set<KnownCredential> | undefined;
  #attempt: RoutedAttempt | undefined;
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
    this.#choose();
    return this.targets[this.#current]!;
  }

  /** The credential that the target which was chosen last is called with. Absent: its first. */
  get credential(): UpstreamCredential | undefined {
    return this.#credential?.credential;
  }

  /** Begins an attempt at the target that was chosen last. */
  begin(): void {
    const nowMs = this.router.deps.clock.monotonicMs();
    const target = this.#known[this.#current]!;
    const known = this.#credential;
    const ticket = target.health.begin(nowMs);
    this.#attempt = { target, ticket, credential: known && { known, ticket: known.health.begin(nowMs) } };
  }

  /** Notes that the answer began. One that arrives whole is never late: its time depends on its length. */
  answered(isWhole: boolean): void {
    if (this.#attempt === undefined) return;
    const slowMs = isWhole ? Number.POSITIVE_INFINITY : this.targets[this.#current]!.upstream.slowFirstTokenMs;
    this.router.answered(this.#attempt, slowMs, this.#known);
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
    this.#keepOtherCredentials(error);
    const pauseMs = this.#untried.length > 0 ? 0 : this.#pauseBeforeRepeat(error, hasStatus);
    if (pauseMs === undefined) return undefined;
    // A target that was skipped because its format cannot express the request was not called.
    const isCall = (error as AppError).reason !== 'unsupported_field';
    if (isCall && !this.#known[0]!.budget.take(clock.monotonicMs())) {
      metrics.countRetry(this.#known[this.#current]!.upstreamId, false);
      return undefined;
    }
    if (this.#untried.length > 0) this.#choose();
    else {
      this.#hasRepeated = true;
      this.#chooseCredential();
    }
    if (isCall) metrics.countRetry(this.#known[this.#current]!.upstreamId, true);
    return { resolved: this.targets[this.#current]!, pauseMs: pauseMs * (1 + random() / 2) };
  }

  /** Lets the target be tried again with another credential if its vendor refused this one. */
  #keepOtherCredentials(error: unknown): void {
    const verdict = verdictOf(error);
    if (this.#credential === undefined || (verdict !== 'refusal' && verdict !== 'rejection')) return;
    (this.#refused ??= new Set()).add(this.#credential);
    if (this.#credentials(this.#current).length > 0) this.#untried.push(this.#current);
  }

  /** Returns the pause before the only target of the model is tried a second time; undefined if it is not. */
  #pauseBeforeRepeat(error: unknown, hasStatus: boolean): number | undefined {
    const [only] = this.targets;
    // The sandbox fails on purpose.
    if (this.targets.length > 1 || this.#hasRepeated || only!.upstream.format === ApiFormat.API_FORMAT_SANDBOX) return undefined;
    return pauseBeforeRetry(error, hasStatus, this.router.deps.config.retryPauseMs);
  }

  #conclude(verdict: Verdict, error: unknown): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#attempt = undefined;
    this.router.conclude(attempt, verdict, error, this.#known);
  }

  /** Takes the next target out of the untried ones. */
  #choose(): void {
    const nowMs = this.router.deps.clock.monotonicMs();
    const candidates = this.#untried.length < 2 ? [] : this.#untried.map((position) => this.#candidate(position, nowMs));
    const position = chooseTarget(candidates, this.router.deps.random)?.position ?? this.#untried[0]!;
    this.#untried.splice(this.#untried.indexOf(position), 1);
    this.#current = position;
    this.#chooseCredential();
  }

  #chooseCredential(): void {
    const nowMs = this.router.deps.clock.monotonicMs();
    const left = this.#credentials(this.#current);
    const candidates = (left.length > 0 ? left : this.#allCredentials(this.#current)).map((credential) => {
      const { health } = credential;
      return { credential, priority: 0, weight: 1, untilMs: health.untilMs, standing: health.standing(nowMs) };
    });
    this.#credential = chooseTarget(candidates, this.router.deps.random)?.credential;
  }

  #candidate(position: number, nowMs: number): Candidate & { readonly position: number } {
    const { priority = position, weight = 1 } = this.targets[position]!.target;
    const { health } = this.#known[position]!;
    const own: Pick<Candidate, 'standing' | 'untilMs'> = { standing: health.standing(nowMs), untilMs: health.untilMs };
    const isUsable = own.standing === 'available' || own.standing === 'trial_due';
    return { position, priority, weight, ...(isUsable ? (bestOf(this.#credentials(position), nowMs) ?? own) : own) };
  }

  #allCredentials(position: number): readonly KnownCredential[] {
    return this.router.credentialsOf(this.#known[position]!, this.targets[position]!.upstream.credentials);
  }

  /** Returns the credentials of a target that its vendor has not refused in this call. */
  #credentials(position: number): readonly KnownCredential[] {
    const all = this.#allCredentials(position);
    return this.#refused === undefined ? all : all.filter((credential) => !this.#refused!.has(credential));
  }
}

const order: readonly Standing[] = ['available', 'trial_due', 'cooling', 'ejected', 'on_trial'];

/** Returns the standing of the credential that can be used first; undefined if there are none. */
function bestOf(credentials: readonly KnownCredential[], nowMs: number): Pick<Candidate, 'standing' | 'untilMs'> | undefined {
  let best: Pick<Candidate, 'standing' | 'untilMs'> | undefined;
  for (const { health } of credentials) {
    const { untilMs } = health;
    const standing = health.standing(nowMs);
    if (best !== undefined) {
      const rank = order.indexOf(standing) - order.indexOf(best.standing);
      if (rank > 0 || (rank === 0 && untilMs >= best.untilMs)) continue;
    }
    best = { standing, untilMs };
    if (standing === 'available') break;
  }
  return best;
}
