// The route of one call through the targets of its model: which target is tried now, and which one next.
import { setTimeout as sleep } from 'node:timers/promises';
import { fault } from '#client/errors/fault.js';
import { ApiFormat, type GenerateRequest, TargetChoice } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { noTarget, type ResolvedTarget } from '../upstreams/registry.js';
import type { UpstreamCredential } from '../upstreams/credentials.js';
import { type Candidate, chooseTarget, isUsable } from './choose-target.js';
import type { Paced, PacedCall } from './pace.js';
import { draw, prefixHash } from './prefix-hash.js';
import type { KnownCredential, KnownTarget, RoutedAttempt, Router } from './router.js';
import { countPaced, countRetry } from './routing-metrics.js';
import { isRetryable, isUncounted, isUnsent, pauseBeforeRetry, type Verdict, verdictOf } from './verdict.js';

/** The next attempt of a call. */
export interface NextAttempt {
  readonly resolved: ResolvedTarget;
  /** How long to wait before it. */
  readonly pauseMs: number;
}

/** The fields of a request that its route depends on. */
export type RoutedRequest = Pick<GenerateRequest, 'inputTokensMax' | 'affinityScope' | 'prompt' | 'native'>;

/** Routes one call. */
export class CallRoute {
  readonly #known: readonly KnownTarget[];
  /** Those that were not drained when the call began. */
  readonly #undrained: readonly KnownTarget[];
  /** The positions that have not been tried, or that have further credentials to try. */
  readonly #untried: number[];
  #current = 0;
  /** The credential of the next attempt, if its upstream has several. */
  #credential: KnownCredential | undefined;
  /** The credentials that the vendor refused in this call. */
  #refused: Set<UpstreamCredential> | undefined;
  #attempt: RoutedAttempt | undefined;
  /** Whether the target that was chosen last was called. */
  #wasCalled = false;
  #hasRepeated = false;
  readonly #tokens: number;
  #waitLeftMs: number;
  #pacedCall: PacedCall | undefined;
  #usage: TokenCounts | undefined;

  /** The hash of the beginning of the prompt, once it is needed; null if the call has no affinity. */
  #prefix: number | null | undefined;
  #choice = TargetChoice.TARGET_CHOICE_UNSPECIFIED;

  /** `targets` must not be empty. Raises model_unavailable if all of them are drained. */
  constructor(
    private readonly router: Router,
    private readonly targets: readonly ResolvedTarget[],
    private readonly request: RoutedRequest,
    origin?: CallRoute,
  ) {
    // Estimated at four bytes per token.
    this.#tokens = Math.ceil(request.inputTokensMax / 4);
    if (origin !== undefined) {
      this.#known = origin.#known;
      this.#undrained = origin.#undrained;
      this.#untried = origin.#untried;
      this.#refused = origin.#refused ??= new Set();
      this.#prefix = origin.#prefix;
      this.#waitLeftMs = 0;
      return;
    }
    this.#waitLeftMs = router.deps.config.paceWaitMs;
    this.#known = targets.map(({ target }) => router.find(target));
    this.#untried = targets.flatMap(({ upstream }, position) =>
      router.isDrained(this.#known[position]!, upstream.credentials) ? [] : [position],
    );
    if (this.#untried.length === 0) throw noTarget();
    this.#undrained = this.#untried.map((position) => this.#known[position]!);
    this.#known[0]!.budget.noteCall(router.deps.clock.monotonicMs());
  }

  /** Returns the target to try first. */
  first(): ResolvedTarget {
    this.#choose();
    return this.target;
  }

  /**
   * Returns the route of a second attempt at the same time, at another target that is usable now; undefined if there is none, or the model's
   * budget for retries is used up.
   */
  hedge(): CallRoute | undefined {
    const { clock, random } = this.router.deps;
    const nowMs = clock.monotonicMs();
    const chosen = chooseTarget(this.#untried.map((position) => this.#candidate(position, nowMs)).filter(isUsable), random);
    if (chosen === undefined) return undefined;
    const { upstreamId } = this.#known[chosen.position]!;
    const isWithinBudget = this.#known[0]!.budget.take(nowMs);
    countRetry(upstreamId, isWithinBudget);
    if (!isWithinBudget) return undefined;
    const second = new CallRoute(this.router, this.targets, this.request, this);
    second.#take(chosen.position);
    second.#choice = TargetChoice.TARGET_CHOICE_HEDGE;
    return second;
  }

  /** The target that was chosen last. */
  get target(): ResolvedTarget {
    return this.targets[this.#current]!;
  }

  /** The credential with which the target that was chosen last is called; undefined for its first. */
  get credential(): UpstreamCredential | undefined {
    return this.#credential?.credential;
  }

  /** Why that target was chosen; undefined if it was by priority and weight. */
  get choice(): TargetChoice | undefined {
    return this.#choice || undefined;
  }

  /**
   * Waits until the vendor of the target that was chosen last admits the call by its requests and tokens per minute; undefined if the vendor
   * admits it immediately. Raises upstream_rate_limited if that takes too long, and the signal's reason if it aborts first.
   */
  admit(signal: AbortSignal): Promise<void> | undefined {
    const paced = this.#paced(this.#current, this.#credential);
    const waitMs = paced && this.#takeAllowance(paced);
    return waitMs === undefined ? undefined : this.#waitFor(paced!, waitMs, signal);
  }

  async #waitFor(paced: Paced, firstMs: number, signal: AbortSignal): Promise<void> {
    for (let waitMs: number | undefined = firstMs; waitMs !== undefined; waitMs = this.#takeAllowance(paced)) {
      this.#waitLeftMs -= waitMs;
      await pause(waitMs, signal);
    }
    countPaced(paced.upstreamId, true);
  }

  /** Takes the call from the vendor's allowance. If that is used up, returns how long to wait before trying again. */
  #takeAllowance(paced: Paced): number | undefined {
    const taken = this.router.deps.pace.take(paced, this.#tokens);
    if (typeof taken !== 'number') {
      this.#pacedCall = taken;
      return undefined;
    }
    if (taken <= this.#waitLeftMs) return taken;
    countPaced(paced.upstreamId, false);
    throw fault('upstream_rate_limited', {}, { retryAfterMs: taken });
  }

  /** Begins an attempt at the target that was chosen last. */
  begin(): void {
    this.#wasCalled = true;
    const nowMs = this.router.deps.clock.monotonicMs();
    const target = this.#known[this.#current]!;
    const known = this.#credential;
    const ticket = target.health.begin(nowMs);
    this.#attempt = { target, ticket, credential: known && { known, ticket: known.health.begin(nowMs) } };
  }

  /** Notes that the answer began. A whole answer is never late, because its time depends on its length. */
  answered(isWhole: boolean): void {
    if (this.#attempt === undefined) return;
    const slowMs = isWhole ? Number.POSITIVE_INFINITY : this.targets[this.#current]!.upstream.slowFirstTokenMs;
    this.router.answered(this.#attempt, slowMs, this.#undrained);
  }

  /** Notes the usage so far. */
  noteUsage(usage: TokenCounts | undefined): void {
    this.#usage = usage ?? this.#usage;
  }

  /** Notes that the answer is complete. */
  succeed(): void {
    this.#conclude('success', undefined);
  }

  /** Notes that the attempt failed. */
  fail(error: unknown): void {
    const verdict = verdictOf(error);
    this.#conclude(verdict, error);
    this.#keepOtherCredentials(verdict);
  }

  /** Notes that another attempt answered first, and the time that this one has taken so far as its latency. */
  lose(): void {
    if (this.#attempt !== undefined) {
      const { target, ticket } = this.#attempt;
      target.health.noteLatency(this.router.deps.clock.monotonicMs() - ticket.startedAtMs);
    }
    this.end();
  }

  /** Notes that the attempt ended without a verdict, unless it has one. */
  end(): void {
    this.#conclude('none', undefined);
  }

  /**
   * Returns the attempt that follows one that failed with this error; undefined if none does: the request itself is at fault, all
   * targets have failed, or the model's budget for retries is used up. `hasStatus`: whether the vendor responded.
   */
  next(error: unknown, hasStatus: boolean): NextAttempt | undefined {
    const { clock, random } = this.router.deps;
    if (!isRetryable(error)) return undefined;
    const pauseMs = this.#untried.length > 0 ? 0 : this.#pauseBeforeRepeat(error, hasStatus);
    if (pauseMs === undefined) return undefined;
    // A target was not called if its format cannot express the request, it has its maximum of calls, or its vendor's allowance is used up.
    const isCall = this.#wasCalled && !isUnsent(error);
    if (isCall && !this.#known[0]!.budget.take(clock.monotonicMs())) {
      countRetry(this.#known[this.#current]!.upstreamId, false);
      return undefined;
    }
    if (this.#untried.length > 0) this.#choose();
    else {
      this.#hasRepeated = true;
      this.#chooseCredential();
    }
    if (isCall) countRetry(this.#known[this.#current]!.upstreamId, true);
    return { resolved: this.targets[this.#current]!, pauseMs: pauseMs * (1 + random() / 2) };
  }

  /** Lets the target be tried again with another credential if its vendor refused this one. */
  #keepOtherCredentials(verdict: Verdict): void {
    if (this.#credential === undefined || (verdict !== 'refusal' && verdict !== 'rejection')) return;
    (this.#refused ??= new Set()).add(this.#credential.credential);
    if (this.#credentials(this.#current).length > 0) this.#untried.push(this.#current);
  }

  /** Returns the pause before the only target of the model that is not drained is tried a second time; undefined if it is not. */
  #pauseBeforeRepeat(error: unknown, hasStatus: boolean): number | undefined {
    // A target that was not called has already waited for its allowance. The sandbox is not retried, because it fails on purpose.
    const isSandbox = this.target.upstream.format === ApiFormat.API_FORMAT_SANDBOX;
    if (!this.#wasCalled || this.#undrained.length > 1 || this.#hasRepeated || isSandbox) return undefined;
    return pauseBeforeRetry(error, hasStatus, this.router.deps.config.retryPauseMs);
  }

  #conclude(verdict: Verdict, error: unknown): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#attempt = undefined;
    // Vendors do not count the tokens of a call that they refuse. A call that did not reach them does not count at all.
    const isCounted = verdict === 'success' || verdict === 'none';
    if (isUncounted(error)) this.#pacedCall?.cancel();
    else this.#pacedCall?.end(this.#usage === undefined ? (isCounted ? undefined : 0) : sumOf(this.#usage));
    this.#pacedCall = this.#usage = undefined;
    this.router.conclude(attempt, verdict, error, this.#undrained);
  }

  /** Chooses the next target and removes it from the untried ones. */
  #choose(): void {
    const nowMs = this.router.deps.clock.monotonicMs();
    const candidates = this.#untried.length < 2 ? [] : this.#untried.map((position) => this.#candidate(position, nowMs));
    const chosen = chooseTarget(candidates, this.router.deps.random);
    const position = chosen?.position ?? this.#untried[0]!;
    const isByPrefix = chosen?.draw !== undefined && isUsable(chosen);
    this.#choice = isByPrefix ? TargetChoice.TARGET_CHOICE_PREFIX : TargetChoice.TARGET_CHOICE_UNSPECIFIED;
    this.#take(position);
  }

  #take(position: number): void {
    this.#untried.splice(this.#untried.indexOf(position), 1);
    this.#current = position;
    this.#wasCalled = false;
    this.#chooseCredential();
  }

  #chooseCredential(): void {
    const nowMs = this.router.deps.clock.monotonicMs();
    const left = this.#credentials(this.#current);
    const position = this.#current;
    const candidates = (left.length > 0 ? left : this.#allCredentials(position)).map((credential) => {
      return { credential, priority: 0, weight: 1, draw: this.#draw(credential), ...this.#standingOf(position, credential, nowMs) };
    });
    const chosen = chooseTarget(candidates, this.router.deps.random);
    this.#credential = chosen?.credential;
    if (chosen?.draw !== undefined && isUsable(chosen)) this.#choice = TargetChoice.TARGET_CHOICE_PREFIX;
  }

  #candidate(position: number, nowMs: number): Candidate & { readonly position: number } {
    const { priority = position, weight = 1 } = this.targets[position]!.target;
    const own = this.#standingOf(position, undefined, nowMs);
    const credentials = isUsable(own) ? this.#credentials(position) : [];
    const best = bestOf(credentials.map((credential) => this.#standingOf(position, credential, nowMs))) ?? own;
    const known = this.#known[position]!;
    const { latencyMs } = known.health;
    const rank = priority + (this.#isForeign(position, priority) ? foreignStep : 0);
    return { position, priority: rank, weight, latencyMs, badShare: known.health.badShare(nowMs), draw: this.#draw(known), ...best };
  }

  /** Reports whether a target has another format than the caller, and no target of its priority has a weight. Weights apply to calls of every format. */
  #isForeign(position: number, priority: number): boolean {
    const { native } = this.request;
    if (native === undefined || this.targets[position]!.upstream.format === native.format) return false;
    return this.targets.every(({ target }, other) => (target.priority ?? other) !== priority || target.weight === undefined);
  }

  /** Returns the draw of a target or credential for the beginning of the prompt; undefined if the call has no affinity. */
  #draw({ hash }: { readonly hash: number }): number | undefined {
    if (this.#prefix === undefined) {
      const { affinityScope, inputTokensMax, prompt } = this.request;
      // The prompt has at most this many bytes.
      const isLong = inputTokensMax >= this.router.deps.config.affinityBytesMin;
      this.#prefix = affinityScope !== undefined && prompt !== undefined && isLong ? prefixHash(affinityScope, prompt) : null;
    }
    return this.#prefix === null ? undefined : draw(this.#prefix, hash);
  }

  /** Returns the standing of one of several credentials of a target, or of the target itself. One whose allowance is used up counts as cooling down. */
  #standingOf(position: number, credential: KnownCredential | undefined, nowMs: number): Standing {
    const { health } = credential ?? this.#known[position]!;
    const own = { standing: health.standing(nowMs), untilMs: health.untilMs };
    const paced = isUsable(own) ? this.#paced(position, credential) : undefined;
    const waitMs = paced === undefined ? 0 : this.router.deps.pace.waitMs(paced, this.#tokens);
    return waitMs === 0 ? own : { standing: 'cooling', untilMs: nowMs + waitMs };
  }

  /** Returns what is paced when the target is called with this credential; undefined if nothing is. A target with several credentials is paced for each of them. */
  #paced(position: number, credential: KnownCredential | undefined): Paced | undefined {
    const { allowance, credentials } = this.targets[position]!.upstream;
    if (allowance === undefined || (credential === undefined && credentials.length > 1)) return undefined;
    const { upstreamId } = this.#known[position]!;
    return { upstreamId, credentialId: (credential?.credential ?? credentials[0])?.id ?? '', allowance };
  }

  #allCredentials(position: number): readonly KnownCredential[] {
    return this.router.undrainedOf(this.#known[position]!, this.targets[position]!.upstream.credentials);
  }

  /** Returns the credentials of a target that its vendor has not refused in this call. */
  #credentials(position: number): readonly KnownCredential[] {
    const all = this.#allCredentials(position);
    return this.#refused === undefined ? all : all.filter(({ credential }) => !this.#refused!.has(credential));
  }
}

/** Priorities are whole numbers, so this puts a target behind the others of its priority. */
const foreignStep = 0.5;

type Standing = Pick<Candidate, 'standing' | 'untilMs'>;

const order = ['available', 'trial_due', 'cooling', 'ejected', 'on_trial'];

/** Returns the standing of the credential that can be used first; undefined if there are none. */
function bestOf(standings: readonly Standing[]): Standing | undefined {
  const rankOf = ({ standing }: Standing): number => order.indexOf(standing);
  return standings.toSorted((one, other) => rankOf(one) - rankOf(other) || one.untilMs - other.untilMs)[0];
}

const sumOf = (usage: TokenCounts): number =>
  usage.inputTokens + usage.cacheReadTokens + usage.cacheWrite5mTokens + usage.cacheWrite1hTokens + usage.outputTokens;

/** Waits. Raises the signal's reason if it aborts first. */
export async function pause(pauseMs: number, signal: AbortSignal): Promise<void> {
  await sleep(pauseMs, undefined, { signal }).catch(() => {
    throw signal.reason;
  });
}
