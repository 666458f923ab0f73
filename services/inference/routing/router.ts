// Holds the health of all targets that this process (or thread) has called.
import type { Clock } from '#kit/clock.js';
import { subjectHash } from '#kit/limits/window-table.js';
import type { Logger } from '#kit/log.js';
import { toAppError } from '#client/errors/app-error.js';
import { OverrideMode, type Target, type TargetOverride } from '#proto/inference/v1/inference.js';
import type { InferenceConfig } from '../config.js';
import type { UpstreamCredential } from '../upstreams/credentials.js';
import { ejectedMax } from './choose-target.js';
import type { Pace } from './pace.js';
import { RetryBudget } from './retry-budget.js';
import { countEjection, countFailure, countSlowAnswer } from './routing-metrics.js';
import { type AttemptTicket, type HealthRules, type Standing, TargetHealth } from './target-health.js';
import type { Verdict } from './verdict.js';

/** Maximum number of targets whose health is kept, far more than catalogs have. When it is reached, all are forgotten. */
const targetsMax = 10_000;

/** The settings of routing. */
type RoutingConfig = Pick<
  InferenceConfig,
  keyof HealthRules | 'ejectedPercentMax' | 'retryPauseMs' | 'retryPercent' | 'retriesPerSecondMin' | 'paceWaitMs' | 'affinityBytesMin'
>;

/** The dependencies of routing. */
export interface RouterDeps {
  readonly config: RoutingConfig;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pace: Pace;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
}

/** A target, or one of its credentials, with the health that its own calls showed. */
interface Judged {
  readonly upstreamId: string;
  readonly upstreamModel: string;
  /** Empty for the target itself. */
  readonly credentialId: string;
  /** The hash of its names, for draws. */
  readonly hash: number;
  readonly health: TargetHealth;
  /** The reason of the last failure; empty if there was none. */
  lastReason: string;
  /** When the override that was applied last was set, in Unix milliseconds; 0 if none was applied. */
  overriddenAtMs: bigint;
}

/** One of several credentials of a target. */
export interface KnownCredential extends Judged {
  readonly credential: UpstreamCredential;
}

/** An attempt at a target, with one of its credentials if it has several. */
export interface RoutedAttempt {
  readonly target: KnownTarget;
  readonly ticket: AttemptTicket;
  readonly credential?: { readonly known: KnownCredential; readonly ticket: AttemptTicket } | undefined;
}

/** A target with what is known about it. */
export interface KnownTarget extends Judged {
  /** Its credentials, if it has several, and the upstream's list that they come from. */
  credentials: readonly KnownCredential[];
  credentialList: readonly UpstreamCredential[] | undefined;
  /** The retry budget of the models whose first target it is. */
  readonly budget: RetryBudget;
  /** The overrides that were read last, by credential id; that of the target itself has an empty id. Some of the credentials may not be known yet. */
  readonly overrides: Map<string, TargetOverride>;
}

function hashOf(...names: readonly string[]): number {
  const [high, low] = subjectHash(names.join(' '));
  return high ^ low;
}

function namesOf({ upstreamId, upstreamModel, credentialId }: Judged): Record<string, string> {
  return { upstream: upstreamId, upstream_model: upstreamModel, ...(credentialId === '' ? {} : { credential: credentialId }) };
}

const subjectOf = ({ credentialId }: Judged): string => (credentialId === '' ? 'upstream target' : 'upstream credential');

/**
 * Reports whether a target, or one of its credentials, gets no calls because an operator drained it. The overrides that were read last decide,
 * so that a process that missed a change does not stay with the previous state.
 */
function hasDrain({ overrides }: KnownTarget, credentialId: string): boolean {
  return overrides.get(credentialId)?.mode === OverrideMode.OVERRIDE_MODE_DRAIN;
}

/** Routes calls. */
export class Router {
  readonly #targets = new Map<string, Map<string, KnownTarget>>();
  #count = 0;
  readonly #listeners: (() => void)[] = [];

  constructor(readonly deps: RouterDeps) {}

  /** Calls `listener` when a target becomes available, unavailable or failing. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Returns what is known about a target. */
  find({ upstreamId, upstreamModel }: Target): KnownTarget {
    const known = this.#targets.get(upstreamId)?.get(upstreamModel);
    return known ?? this.#add(upstreamId, upstreamModel);
  }

  /** Forgets the targets of an upstream that was removed. */
  forget(upstreamId: string): void {
    const models = this.#targets.get(upstreamId);
    if (models === undefined) return;
    this.#targets.delete(upstreamId);
    this.#count -= models.size;
    this.#changed();
  }

  /** Returns all known targets and credentials. */
  *all(): Generator<Judged> {
    for (const models of this.#targets.values())
      for (const target of models.values()) {
        yield target;
        yield* target.credentials;
      }
  }

  /** Returns the credentials of a target if its upstream has several, otherwise none: the only one is judged with its target. */
  credentialsOf(target: KnownTarget, list: readonly UpstreamCredential[]): readonly KnownCredential[] {
    if (target.credentialList === list) return target.credentials;
    const { upstreamId, upstreamModel, credentials: present } = target;
    target.credentialList = list;
    target.credentials =
      list.length < 2
        ? []
        : list.map((credential) => {
            const { id, setAtMs } = credential;
            const known = present.find((each) => each.credential.id === id && each.credential.setAtMs === setAtMs);
            // A vendor either accepts a credential or rejects it, so one rejection is enough to eject it.
            const health = known?.health ?? new TargetHealth({ ...this.deps.config, failuresMax: 1 }, 'credential_rejected');
            return {
              upstreamId,
              upstreamModel,
              credentialId: id,
              hash: hashOf(upstreamId, upstreamModel, id),
              credential,
              health,
              lastReason: known?.lastReason ?? '',
              overriddenAtMs: known?.overriddenAtMs ?? 0n,
            };
          });
    for (const override of target.overrides.values()) this.#applyToCredential(target, override);
    return target.credentials;
  }

  /** Returns those of the credentials that the operator has not drained. */
  undrainedOf(target: KnownTarget, list: readonly UpstreamCredential[]): readonly KnownCredential[] {
    const all = this.credentialsOf(target, list);
    const isDrained = ({ credentialId }: KnownCredential): boolean => hasDrain(target, credentialId);
    return all.some(isDrained) ? all.filter((each) => !isDrained(each)) : all;
  }

  /** Reports whether the operator drained a target, or all of its credentials. A drained credential may be the only one left. */
  isDrained(target: KnownTarget, list: readonly UpstreamCredential[]): boolean {
    return hasDrain(target, '') || (list.length > 0 && list.every(({ id }) => hasDrain(target, id)));
  }

  /** Applies the overrides that are new since the last time. `overrides` are all that there are. */
  apply(overrides: readonly TargetOverride[]): void {
    for (const models of this.#targets.values()) for (const { overrides } of models.values()) overrides.clear();
    // Returning a target also returns its credentials, so overrides are applied in the order in which they were set.
    for (const override of overrides.toSorted((one, other) => Number(one.setAtMs - other.setAtMs))) {
      const target = this.find(override);
      target.overrides.set(override.credentialId, override);
      if (override.credentialId !== '') {
        this.#applyToCredential(target, override);
        continue;
      }
      const isNew = this.#override(target, override);
      if (!isNew || override.mode !== OverrideMode.OVERRIDE_MODE_RETURN) continue;
      for (const { health } of target.credentials) health.reset(this.deps.clock.monotonicMs());
    }
  }

  #applyToCredential(target: KnownTarget, override: TargetOverride): void {
    const known = target.credentials.find(({ credentialId }) => credentialId === override.credentialId);
    if (known === undefined) return;
    // An ejection of the previous secret does not apply to a new one.
    const isPast = override.mode === OverrideMode.OVERRIDE_MODE_EJECT && known.credential.setAtMs > Number(override.setAtMs);
    if (!isPast) this.#override(known, override);
  }

  /** Applies an override unless it was applied before. Returns whether it was new. */
  #override(judged: Judged, { mode, setAtMs, untilMs }: TargetOverride): boolean {
    if (judged.overriddenAtMs === setAtMs) return false;
    judged.overriddenAtMs = setAtMs;
    const { clock, log } = this.deps;
    const nowMs = clock.monotonicMs();
    const leftMs = Number(untilMs) - clock.nowMs();
    if (mode === OverrideMode.OVERRIDE_MODE_RETURN) judged.health.reset(nowMs);
    else if (mode === OverrideMode.OVERRIDE_MODE_EJECT && leftMs > 0) judged.health.eject(nowMs, leftMs, 'operator');
    else if (mode !== OverrideMode.OVERRIDE_MODE_DRAIN) return true;
    log.info({ ...namesOf(judged), mode: OverrideMode[mode] }, `${subjectOf(judged)} overridden by the operator`);
    this.#changed();
    return true;
  }

  /** Notes the verdict on an attempt. `group` holds the targets of the call's model that are not drained, not all of which may be ejected. */
  conclude(attempt: RoutedAttempt, verdict: Verdict, error: unknown, group: readonly KnownTarget[]): void {
    const { target, ticket, credential } = attempt;
    const nowMs = this.deps.clock.monotonicMs();
    const before = target.health.standing(nowMs);
    const wasFailing = target.health.isFailing;
    const credentialBefore = credential?.known.health.standing(nowMs);
    if (verdict === 'success') {
      target.health.succeed(ticket, nowMs);
      credential?.known.health.succeed(credential.ticket, nowMs);
    } else if (verdict === 'none') {
      target.health.abandon(ticket);
      credential?.known.health.abandon(credential.ticket);
    } else this.#fail(attempt, verdict, error, nowMs, group);
    this.#noteChange(target, before, nowMs);
    if (target.health.isFailing !== wasFailing) this.#changed();
    if (credential !== undefined) this.#noteChange(credential.known, credentialBefore!, nowMs);
  }

  /** Notes that an answer began, which ends a trial unless it began late: after `slowMs`. `group` as for `conclude`. */
  answered({ target, ticket, credential }: RoutedAttempt, slowMs: number, group: readonly KnownTarget[]): void {
    const { clock } = this.deps;
    const { health } = target;
    const nowMs = clock.monotonicMs();
    if (credential?.known.health.isEjected === true) {
      const before = credential.known.health.standing(nowMs);
      credential.known.health.answer(credential.ticket, nowMs);
      this.#noteChange(credential.known, before, nowMs);
    }
    const latencyMs = nowMs - ticket.startedAtMs;
    if (slowMs < Number.POSITIVE_INFINITY) health.noteLatency(latencyMs);
    const isSlow = latencyMs > slowMs;
    if (!isSlow && !health.isEjected) return;
    const before = health.standing(nowMs);
    if (isSlow) {
      countSlowAnswer(target.upstreamId);
      health.slow(ticket, nowMs, this.#mayEject(target, nowMs, group));
    } else health.answer(ticket, nowMs);
    this.#noteChange(target, before, nowMs);
  }

  #fail(
    { target, ticket, credential }: RoutedAttempt,
    verdict: 'failure' | 'refusal' | 'rejection' | 'overload',
    error: unknown,
    nowMs: number,
    group: readonly KnownTarget[],
  ): void {
    const { reason, retryAfterMs } = toAppError(error);
    const { health } = target;
    countFailure(target.upstreamId, reason);
    const isCredentials = credential !== undefined && (verdict === 'refusal' || verdict === 'rejection');
    (isCredentials ? credential.known : target).lastReason = reason;
    // Vendors limit the rate of each credential, so the credential cools down if the target has several.
    const limited = credential === undefined ? { health, ticket } : { health: credential.known.health, ticket: credential.ticket };
    if (isCredentials) {
      // A vendor that refuses a credential is in service.
      health.answer(ticket, nowMs);
      if (verdict === 'refusal') limited.health.coolDown(limited.ticket, nowMs, retryAfterMs);
      else limited.health.fail(limited.ticket, nowMs, true);
      return;
    }
    if (verdict === 'refusal') return health.coolDown(ticket, nowMs, retryAfterMs);
    health.fail(ticket, nowMs, this.#mayEject(target, nowMs, group));
    if (verdict === 'overload' && (retryAfterMs ?? 0) > 0 && !health.isEjected)
      limited.health.coolDown(limited.ticket, nowMs, retryAfterMs);
    else if (credential !== undefined) limited.health.abandon(limited.ticket);
  }

  /** Reports whether one more target of the group may be ejected. One whose trial is due can take calls, so it does not count. */
  #mayEject(target: KnownTarget, nowMs: number, group: readonly KnownTarget[]): boolean {
    let others = 0;
    for (const each of group) if (each !== target && ['ejected', 'on_trial'].includes(each.health.standing(nowMs))) others += 1;
    return others < ejectedMax(group.length, this.deps.config.ejectedPercentMax);
  }

  /** Logs and counts a change: one line for each. */
  #noteChange(judged: Judged, before: Standing, nowMs: number): void {
    const { upstreamId, health, lastReason } = judged;
    const { log } = this.deps;
    const after = health.standing(nowMs);
    if (after === before) return;
    this.#changed();
    const [fields, subject] = [namesOf(judged), subjectOf(judged)];
    const forMs = Math.round(health.untilMs - nowMs);
    if (after === 'ejected') {
      countEjection(upstreamId);
      const { cause, failures } = health;
      log.warn({ ...fields, cause, reason: lastReason, failures, for_ms: forMs }, `${subject} ejected`);
    } else if (after === 'cooling') log.warn({ ...fields, reason: lastReason, for_ms: forMs }, `${subject} is cooling down`);
    else if (after === 'available' && before !== 'cooling') log.info(fields, `${subject} returned to service`);
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
      credentialId: '',
      hash: hashOf(upstreamId, upstreamModel, ''),
      credentials: [],
      credentialList: undefined,
      health: new TargetHealth(config),
      budget: new RetryBudget({ percent: config.retryPercent, perSecondMin: config.retriesPerSecondMin }, clock.monotonicMs()),
      lastReason: '',
      overriddenAtMs: 0n,
      overrides: new Map(),
    };
    const models = this.#targets.get(upstreamId) ?? new Map<string, KnownTarget>();
    this.#targets.set(upstreamId, models.set(upstreamModel, known));
    this.#count += 1;
    return known;
  }
}
