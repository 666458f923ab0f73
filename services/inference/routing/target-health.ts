// The health of one target, judged by its own calls, as Envoy's outlier detection does. Pure: every method takes the monotonic time.
import { OutcomeWindow } from './outcome-window.js';

/** The rules for ejecting a target. */
export interface HealthRules {
  /** Consecutive failures after which a target is ejected. */
  readonly failuresMax: number;
  /** The share of failed and slow calls within the window at which a target is ejected, if there are at least `failureCallsMin` calls. */
  readonly failurePercentMax: number;
  readonly failureCallsMin: number;
  readonly failureWindowMs: number;
  /** Duration of the first ejection. Each further one lasts a multiple of it, at most `ejectionMaxMs`. */
  readonly ejectionBaseMs: number;
  readonly ejectionMaxMs: number;
}

/**
 * Whether a target may be called: `available`; `cooling` until the vendor accepts calls again; `ejected`; `trial_due`, so that the next call
 * may try it; or `on_trial`, while that call runs.
 */
export type Standing = 'available' | 'cooling' | 'ejected' | 'trial_due' | 'on_trial';

/** Why a target was ejected. */
export type EjectionReason =
  | 'consecutive_failures'
  | 'failure_rate'
  | 'slow_first_tokens'
  | 'failed_trial'
  | 'operator'
  | 'credential_rejected';

/** An attempt at a target, from its start to its verdict. */
export interface AttemptTicket {
  readonly isTrial: boolean;
  /** The number of the last ejection before it began. */
  readonly ejection: number;
  readonly startedAtMs: number;
  /** Whether its outcome is counted in the window. */
  isCounted: boolean;
}

/** The cooldown of a vendor that refuses calls without a retry-after: doubled with each consecutive refusal. */
const cooldownBaseMs = 1000;
const cooldownMaxMs = 30_000;

/** The weight of one answer in the moving average of latency. */
const latencyShare = 0.2;
/** With fewer calls, the share of failures is not meaningful. */
const shareCallsMin = 5;

/** Holds the health of one target. */
export class TargetHealth {
  /** Failures since the last answer that was complete. */
  failures = 0;
  /** The recent time to the first token, a moving average; undefined before the first answer. */
  latencyMs: number | undefined;
  /** Why it was ejected the last time. */
  cause: EjectionReason = 'consecutive_failures';
  readonly #window: OutcomeWindow;
  /** Slow answers among the bad outcomes, since the window last had none. */
  #slow = 0;
  #refusals = 0;
  #coolUntilMs = Number.NEGATIVE_INFINITY;
  #isEjected = false;
  #isOnTrial = false;
  #untilMs = 0;
  /** Counts all ejections, so that the answers of calls that began earlier are recognised. */
  #ejection = 0;
  #sinceMs: number | undefined;
  /** How many times the base the next ejection lasts, less one. */
  #severity = 0;
  #returnedAtMs = 0;

  /** `failureCause` is the cause if consecutive failures eject it; any other than the default remains the cause when a trial fails. */
  constructor(
    private readonly rules: HealthRules,
    private readonly failureCause: EjectionReason = 'consecutive_failures',
  ) {
    this.#window = new OutcomeWindow(rules.failureWindowMs);
  }

  /**
   * Returns whether the target may be called. A target that no call has tried for as long as the longest ejection returns to service, because
   * otherwise one that is not needed would count as ejected forever.
   */
  standing(nowMs: number): Standing {
    if (this.#isOnTrial) return 'on_trial';
    if (this.#isEjected && nowMs >= this.#untilMs + this.rules.ejectionMaxMs) this.#returnOnProbation(nowMs);
    if (this.#isEjected) return nowMs < this.#untilMs ? 'ejected' : 'trial_due';
    return nowMs < this.#coolUntilMs ? 'cooling' : 'available';
  }

  /** Reports whether it is ejected, including while it is on trial. */
  get isEjected(): boolean {
    return this.#isEjected;
  }

  /** Reports whether it is in service although it failed often enough to be ejected: it is, for example, the only target of a model. */
  get isFailing(): boolean {
    return !this.#isEjected && this.failures >= this.rules.failuresMax;
  }

  /** Notes the time to the first token of an answer. */
  noteLatency(ms: number): void {
    this.latencyMs = this.latencyMs === undefined ? ms : this.latencyMs + (ms - this.latencyMs) * latencyShare;
  }

  /** Returns the share of its recent calls that failed or began late; 0 if there were too few calls. */
  badShare(nowMs: number): number {
    const { calls, bad } = this.recent(nowMs);
    return calls < shareCallsMin ? 0 : bad / calls;
  }

  /** Returns when it entered its present state; undefined if it never changed. */
  sinceMs(nowMs: number): number | undefined {
    const hasCooled = !this.#isEjected && this.#coolUntilMs <= nowMs && this.#coolUntilMs > (this.#sinceMs ?? Number.NEGATIVE_INFINITY);
    return hasCooled ? this.#coolUntilMs : this.#sinceMs;
  }

  /** Returns the recent calls, and those of them that failed or began late. */
  recent(nowMs: number): { readonly calls: number; readonly bad: number } {
    this.#window.advance(nowMs);
    return { calls: this.#window.total, bad: this.#window.bad };
  }

  /** Returns when its ejection or cooldown ends; in the past if it has neither. */
  get untilMs(): number {
    return this.#isEjected ? this.#untilMs : this.#coolUntilMs;
  }

  /** Begins an attempt. It is a trial if one is due. */
  begin(nowMs: number): AttemptTicket {
    const isTrial = this.standing(nowMs) === 'trial_due';
    if (isTrial) this.#isOnTrial = true;
    return { isTrial, ejection: this.#ejection, startedAtMs: nowMs, isCounted: false };
  }

  /** Notes that an answer began. That is enough to end a trial, because an answer may take minutes; one more failure ejects the target again. */
  answer(ticket: AttemptTicket, nowMs: number): void {
    if (!this.#isEjected || ticket.ejection !== this.#ejection) return;
    this.#returnOnProbation(nowMs);
  }

  /** Notes that an answer began late. It is a bad outcome, but not a failure. `mayEject` as for `fail`. */
  slow(ticket: AttemptTicket, nowMs: number, mayEject: boolean): void {
    if (ticket.ejection !== this.#ejection) return;
    this.#slow += 1;
    this.#judge(ticket, nowMs, mayEject);
  }

  /** Records that the target worked: it completed an answer, or rejected an invalid request. */
  succeed(ticket: AttemptTicket, nowMs: number): void {
    this.answer(ticket, nowMs);
    if (this.#isEjected) return;
    this.failures = this.#refusals = 0;
    this.#count(ticket, false, nowMs);
  }

  /** Notes a failure. `mayEject` is false if too many of the model's targets are ejected already. */
  fail(ticket: AttemptTicket, nowMs: number, mayEject: boolean): void {
    if (ticket.ejection !== this.#ejection) return;
    this.failures += 1;
    this.#judge(ticket, nowMs, mayEject);
  }

  /** Notes that the vendor refuses calls for now: for `retryAfterMs`, or for a growing time if the vendor does not say how long, or says 0. */
  coolDown(ticket: AttemptTicket, nowMs: number, retryAfterMs: number | undefined): void {
    // A vendor that limits the rate is in service.
    this.answer(ticket, nowMs);
    this.#refusals += 1;
    if (this.standing(nowMs) !== 'cooling') this.#sinceMs = nowMs;
    const waitMs = retryAfterMs || Math.min(cooldownMaxMs, cooldownBaseMs * 2 ** Math.min(10, this.#refusals - 1));
    this.#coolUntilMs = Math.max(this.#coolUntilMs, nowMs + waitMs);
  }

  /** Notes that an attempt ended without a verdict, so that another call makes the trial. */
  abandon(ticket: AttemptTicket): void {
    if (ticket.isTrial && ticket.ejection === this.#ejection) this.#isOnTrial = false;
  }

  /** Reports whether a probe may decide when the trial is due: not while the operator ejected it, or a trial runs. */
  get isProbed(): boolean {
    return this.#isEjected && !this.#isOnTrial && this.cause !== 'operator';
  }

  /**
   * Notes the result of a probe of an ejected target; the next probe follows after `intervalMs`. While probes fail, the trial waits for the next
   * probe, but no longer than the longest ejection, because calls may work although probes do not. Once a probe succeeds, the trial is due at
   * once, unless a trial has failed: then a probe that succeeds proves too little.
   */
  noteProbe(isOk: boolean, intervalMs: number, nowMs: number): void {
    if (!this.isProbed) return;
    const latestMs = (this.#sinceMs ?? nowMs) + this.rules.ejectionMaxMs;
    if (!isOk) this.#untilMs = Math.max(this.#untilMs, Math.min(latestMs, nowMs + 2 * intervalMs));
    else if (this.cause !== 'failed_trial') this.#untilMs = Math.min(this.#untilMs, nowMs);
  }

  /** Ejects the target for `forMs`. */
  eject(nowMs: number, forMs: number, cause: EjectionReason): void {
    this.cause = cause;
    this.#forgetOutcomes();
    this.#ejection += 1;
    this.#isEjected = true;
    this.#isOnTrial = false;
    this.#untilMs = nowMs + forMs;
    this.#sinceMs = nowMs;
  }

  /** Returns the target to service and forgets its failures, on behalf of the operator. */
  reset(nowMs: number): void {
    this.#return(nowMs);
    this.failures = this.#refusals = this.#severity = 0;
    this.#forgetOutcomes();
    this.#coolUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Counts a bad outcome and ejects the target if there are too many. */
  #judge(ticket: AttemptTicket, nowMs: number, mayEject: boolean): void {
    if (this.#isEjected) {
      // The attempts of calls for which no other target was left do not prolong an ejection.
      if (!ticket.isTrial) return;
      if (!mayEject) return this.#return(nowMs);
      return this.#ejectForLonger(nowMs, this.failureCause === 'consecutive_failures' ? 'failed_trial' : this.failureCause);
    }
    this.#count(ticket, true, nowMs);
    const cause = this.#causeToEject();
    if (!mayEject || cause === undefined) return;
    this.#severity = Math.max(0, this.#severity - Math.floor((nowMs - this.#returnedAtMs) / this.rules.ejectionBaseMs));
    this.#ejectForLonger(nowMs, cause);
  }

  #causeToEject(): EjectionReason | undefined {
    const { failuresMax, failureCallsMin, failurePercentMax } = this.rules;
    const { total, bad } = this.#window;
    if (this.failures >= failuresMax) return this.failureCause;
    if (total < failureCallsMin || bad * 100 < total * failurePercentMax) return undefined;
    return 2 * this.#slow > bad ? 'slow_first_tokens' : 'failure_rate';
  }

  #ejectForLonger(nowMs: number, cause: EjectionReason): void {
    this.#severity += 1;
    this.eject(nowMs, Math.min(this.rules.ejectionMaxMs, this.rules.ejectionBaseMs * this.#severity), cause);
  }

  /** Adds the outcome of an attempt to the window, once. */
  #count(ticket: AttemptTicket, isBad: boolean, nowMs: number): void {
    if (ticket.isCounted) return;
    ticket.isCounted = true;
    this.#window.note(isBad, nowMs);
    if (this.#window.bad === 0) this.#slow = 0;
  }

  #forgetOutcomes(): void {
    this.#window.clear();
    this.#slow = 0;
  }

  #returnOnProbation(nowMs: number): void {
    this.#return(nowMs);
    this.failures = Math.max(0, this.rules.failuresMax - 1);
  }

  #return(nowMs: number): void {
    this.#isEjected = this.#isOnTrial = false;
    this.#returnedAtMs = this.#sinceMs = nowMs;
  }
}
