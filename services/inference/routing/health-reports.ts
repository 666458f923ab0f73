// Reports the targets that are out of service or failing in this process (or thread) to the database, where operators read those of all processes.
import { randomBytes } from 'node:crypto';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { afterAbout } from '#kit/scheduling/shared-timers.js';
import { EjectionCause, type TargetHealth, TargetState } from '#proto/inference/v1/inference.js';
import type { TargetStore } from '../target-store.js';
import type { Router } from './router.js';
import type { EjectionReason, TargetHealth as HealthOfTarget } from './target-health.js';

/** How often a report is repeated while it lists any target. */
const repeatMs = 5000;
/** How long a report is valid. */
export const reportValidMs = 4 * repeatMs;

const causes: Record<EjectionReason, EjectionCause> = {
  consecutive_failures: EjectionCause.EJECTION_CAUSE_CONSECUTIVE_FAILURES,
  failure_rate: EjectionCause.EJECTION_CAUSE_FAILURE_RATE,
  slow_first_tokens: EjectionCause.EJECTION_CAUSE_SLOW_FIRST_TOKENS,
  failed_trial: EjectionCause.EJECTION_CAUSE_FAILED_TRIAL,
  operator: EjectionCause.EJECTION_CAUSE_OPERATOR,
  credential_rejected: EjectionCause.EJECTION_CAUSE_CREDENTIAL_REJECTED,
};

function stateOf({ isEjected, isFailing }: HealthOfTarget, isCooling: boolean): TargetState {
  if (isCooling) return TargetState.TARGET_STATE_COOLING;
  if (isEjected) return TargetState.TARGET_STATE_EJECTED;
  return isFailing ? TargetState.TARGET_STATE_FAILING : TargetState.TARGET_STATE_AVAILABLE;
}

/** Writes the reports. It costs nothing while all targets are available. */
export class HealthReports {
  readonly #instance = randomBytes(6).toString('hex');
  #cancel: (() => void) | undefined;
  #isPlanned = false;
  #isReporting = false;
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;
  #watchedUntilMs = 0;

  constructor(
    private readonly router: Router,
    private readonly store: TargetStore,
    /** Applies the changes of operators: removed upstreams, and overrides. While there are no calls, nothing else does. */
    private readonly refresh: () => Promise<void>,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    router.onChange(() => this.#plan(250));
  }

  /** Also reports available targets until `untilMs`, because an operator watches. */
  watch(untilMs: number): void {
    this.#watchedUntilMs = untilMs;
    // A report that is being prepared calls this itself, and takes the new time into account.
    if (this.#isWatched && !this.#isPlanned && !this.#isReporting) this.#plan(0);
  }

  /** Removes the report of this process. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#writing;
    if (this.#cancel !== undefined) await this.#write([]);
  }

  #plan(afterMs: number): void {
    if (this.#isStopped) return;
    this.#cancel?.();
    this.#isPlanned = true;
    this.#cancel = afterAbout(afterMs, () => {
      this.#isPlanned = false;
      this.#writing = this.#writing.then(() => this.#report());
    });
  }

  async #report(): Promise<void> {
    this.#isReporting = true;
    await this.refresh().catch((error: unknown) => this.log.warn({ err: error }, 'the changes of operators cannot be read'));
    this.#isReporting = false;
    const targets = this.#targets();
    if (targets.length > 0) this.#plan(repeatMs);
    await this.#write(targets);
  }

  get #isWatched(): boolean {
    return this.clock.nowMs() < this.#watchedUntilMs;
  }

  /** Returns the targets that are out of service or failing, or all while an operator watches. */
  #targets(): TargetHealth[] {
    const [monotonicMs, wallMs] = [this.clock.monotonicMs(), this.clock.nowMs()];
    const wall = (atMs: number): bigint => BigInt(Math.round(wallMs + atMs - monotonicMs));
    return [...this.router.all()].flatMap(({ upstreamId, upstreamModel, credentialId, health, lastReason }) => {
      const isCooling = health.standing(monotonicMs) === 'cooling';
      const isOut = health.isEjected || isCooling;
      if (!isOut && !health.isFailing && !this.#isWatched) return [];
      const { failures, latencyMs } = health;
      const { calls, bad } = health.recent(monotonicMs);
      const sinceMs = health.sinceMs(monotonicMs);
      return [
        {
          upstreamId,
          upstreamModel,
          credentialId,
          state: stateOf(health, isCooling),
          cause: health.isEjected ? causes[health.cause] : EjectionCause.EJECTION_CAUSE_UNSPECIFIED,
          sinceMs: sinceMs === undefined ? 0n : wall(sinceMs),
          untilMs: isOut ? wall(health.untilMs) : 0n,
          failures,
          reason: lastReason,
          ...(latencyMs === undefined ? {} : { latencyMs: Math.round(latencyMs) }),
          recentCalls: calls,
          recentFailures: bad,
          instance: this.#instance,
        },
      ];
    });
  }

  async #write(targets: readonly TargetHealth[]): Promise<void> {
    const nowMs = this.clock.nowMs();
    await this.store.report(this.#instance, nowMs, nowMs - reportValidMs, targets).catch((error: unknown) => {
      this.log.warn({ err: error }, 'the health of targets could not be reported');
    });
  }
}
