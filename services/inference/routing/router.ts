// Knows the health of all targets that this process (or thread) has called.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { toAppError } from '#client/errors/app-error.js';
import { OverrideMode, type Target, type TargetOverride } from '#proto/inference/v1/inference.js';
import type { InferenceConfig } from '../config.js';
import { ejectedMax } from './choose-target.js';
import { RetryBudget } from './retry-budget.js';
import type { RoutingMetrics } from './routing-metrics.js';
import { type AttemptTicket, type HealthRules, type Standing, TargetHealth } from './target-health.js';
import type { Verdict } from './verdict.js';

/** Targets whose health is remembered: far more than catalogs have. All are forgotten when there are more. */
const targetsMax = 10_000;

/** The settings of routing. */
export type RoutingConfig = Pick<
  InferenceConfig,
  keyof HealthRules | 'ejectedPercentMax' | 'retryPauseMs' | 'retryPercent' | 'retriesPerSecondMin'
>;

/** The dependencies of routing. */
export interface RouterDeps {
  readonly config: RoutingConfig;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RoutingMetrics;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
}

/** A target with what is known about it. */
export interface KnownTarget {
  readonly upstreamId: string;
  readonly upstreamModel: string;
  readonly health: TargetHealth;
  /** The retries of the models whose first target it is. */
  readonly budget: RetryBudget;
  /** The reason of the last failure; empty if there was none. */
  lastReason: string;
  /** It gets no calls, because the operator says so. */
  isDrained: boolean;
  /** When the override was set that was applied last. */
  overriddenAtMs: bigint;
}

/** Routes calls. */
export class Router {
  readonly #targets = new Map<string, Map<string, KnownTarget>>();
  #count = 0;
  /** Called when a target becomes available or unavailable. */
  onChange = (): void => {};

  constructor(readonly deps: RouterDeps) {}

  /** Returns what is known about a target. */
  find({ upstreamId, upstreamModel }: Target): KnownTarget {
    const known = this.#targets.get(upstreamId)?.get(upstreamModel);
    return known ?? this.#add(upstreamId, upstreamModel);
  }

  /** Returns all known targets. */
  *all(): Generator<KnownTarget> {
    for (const models of this.#targets.values()) yield* models.values();
  }

  /** Applies what operators decided since the last time. */
  apply(overrides: readonly TargetOverride[]): void {
    const { clock, log } = this.deps;
    for (const { upstreamId, upstreamModel, mode, setAtMs, untilMs } of overrides) {
      const target = this.find({ upstreamId, upstreamModel });
      if (target.overriddenAtMs === setAtMs) continue;
      target.overriddenAtMs = setAtMs;
      target.isDrained = mode === OverrideMode.OVERRIDE_MODE_DRAIN;
      const nowMs = clock.monotonicMs();
      const leftMs = Number(untilMs) - clock.nowMs();
      if (mode === OverrideMode.OVERRIDE_MODE_RETURN) target.health.reset(nowMs);
      else if (mode === OverrideMode.OVERRIDE_MODE_EJECT && leftMs > 0) target.health.eject(nowMs, leftMs, 'operator');
      else if (mode !== OverrideMode.OVERRIDE_MODE_DRAIN) continue;
      const fields = { upstream: upstreamId, upstream_model: upstreamModel, mode: OverrideMode[mode] };
      log.info(fields, 'upstream target overridden by the operator');
      this.onChange();
    }
  }

  /** Notes the verdict on an attempt. `group` are the targets of the call's model, which may not all be ejected. */
  conclude(target: KnownTarget, ticket: AttemptTicket, verdict: Verdict, error: unknown, group: readonly KnownTarget[]): void {
    const { clock, metrics } = this.deps;
    const { health } = target;
    const nowMs = clock.monotonicMs();
    const before = health.standing(nowMs);
    if (verdict === 'none') return health.abandon(ticket);
    if (verdict === 'success') health.succeed(ticket, nowMs);
    else {
      const { reason, retryAfterMs } = toAppError(error);
      target.lastReason = reason;
      metrics.countFailure(target.upstreamId, reason);
      if (verdict === 'refusal') health.coolDown(ticket, nowMs, retryAfterMs);
      else {
        health.fail(ticket, nowMs, this.#mayEject(target, group));
        if (verdict === 'overload' && retryAfterMs !== undefined && !health.isEjected) health.coolDown(ticket, nowMs, retryAfterMs);
      }
    }
    this.#noteChange(target, before, nowMs);
  }

  /** Notes that an answer began, which ends a trial unless it began late: after `slowMs`. `group` as for `conclude`. */
  answered(target: KnownTarget, ticket: AttemptTicket, slowMs: number, group: readonly KnownTarget[]): void {
    const { clock, metrics } = this.deps;
    const { health } = target;
    const nowMs = clock.monotonicMs();
    const isSlow = nowMs - ticket.startedAtMs > slowMs;
    if (!isSlow && !health.isEjected) return;
    const before = health.standing(nowMs);
    if (isSlow) {
      metrics.countSlowAnswer(target.upstreamId);
      health.slow(ticket, nowMs, this.#mayEject(target, group));
    } else health.answer(ticket, nowMs);
    this.#noteChange(target, before, nowMs);
  }

  #mayEject(target: KnownTarget, group: readonly KnownTarget[]): boolean {
    let others = 0;
    for (const each of group) if (each !== target && each.health.isEjected) others += 1;
    return others < ejectedMax(group.length, this.deps.config.ejectedPercentMax);
  }

  /** Logs and counts a change: one line for each. */
  #noteChange(target: KnownTarget, before: Standing, nowMs: number): void {
    const { log, metrics } = this.deps;
    const { upstreamId, upstreamModel, health, lastReason } = target;
    const after = health.standing(nowMs);
    if (after === before) return;
    this.onChange();
    const fields = { upstream: upstreamId, upstream_model: upstreamModel };
    const forMs = Math.round(health.untilMs - nowMs);
    if (after === 'ejected') {
      metrics.countEjection(upstreamId);
      const { cause, failures } = health;
      log.warn({ ...fields, cause, reason: lastReason, failures, for_ms: forMs }, 'upstream target ejected');
    } else if (after === 'cooling') log.warn({ ...fields, reason: lastReason, for_ms: forMs }, 'upstream target is cooling down');
    else if (after === 'available' && before !== 'cooling') log.info(fields, 'upstream target returned to service');
  }

  #add(upstreamId: string, upstreamModel: string): KnownTarget {
    const { config, clock } = this.deps;
    if (this.#count >= targetsMax) {
      this.#targets.clear();
      this.#count = 0;
    }
    const known: KnownTarget = {
      upstreamId,
      upstreamModel,
      health: new TargetHealth(config),
      budget: new RetryBudget({ percent: config.retryPercent, perSecondMin: config.retriesPerSecondMin }, clock.monotonicMs()),
      lastReason: '',
      isDrained: false,
      overriddenAtMs: 0n,
    };
    const models = this.#targets.get(upstreamId) ?? new Map<string, KnownTarget>();
    this.#targets.set(upstreamId, models.set(upstreamModel, known));
    this.#count += 1;
    return known;
  }
}
