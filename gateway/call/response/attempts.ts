// Collects the attempts of a call at upstreams, as they become known, for the call's record. Pure.
import type { FailedAttempt, Started } from '#proto/inference/v1/inference.js';
import { type Attempt, Outcome } from '#proto/metering/v1/metering.js';

/** Maximum kept per call; no request may have more targets. */
export const attemptsMax = 16;

const uint32Max = 4_294_967_295;

/** Records attempts in the list of a call, which checkpoints also read. */
export class AttemptLog {
  #startAfterMs = 0;
  #upstreamRequestId = '';

  constructor(private readonly attempts: Attempt[]) {}

  /** Notes that the targets are called from now on, this long after the start of the call. */
  ask(afterMs: number): void {
    this.#startAfterMs = afterMs;
  }

  /**
   * Notes that an attempt failed, lost to another one, or broke off while it answered. The next target, if there is one, is tried now or is being
   * tried already.
   */
  fail(failed: FailedAttempt): void {
    const { target, next, offsetMs, durationMs, reason, httpStatus, upstreamRequestId } = failed;
    // The attempt that has been running since the previous one failed.
    const answered = this.#open()?.answered === true;
    if (this.#open() !== undefined) this.attempts.pop();
    const began = this.#offset(offsetMs);
    this.#add({ ...attemptAt(target, began), answered, durationMs, reason, httpStatus, upstreamRequestId, ...chosen(failed) });
    if (next !== undefined) this.#add(attemptAt(next, this.#offset(failed.nextOffsetMs ?? offsetMs + durationMs)));
  }

  /** Notes that an attempt began to answer. */
  answer(started: Started): void {
    const { target, upstreamRequestId } = started;
    this.#upstreamRequestId = upstreamRequestId;
    if (this.attempts.length === 0) {
      this.#add({ ...attemptAt(target, this.#offset(0)), answered: true, ...chosen(started) });
      return;
    }
    const attempt = this.#open();
    if (attempt !== undefined) Object.assign(attempt, { answered: true, upstreamRequestId, ...chosen(started) });
  }

  /** Notes the end of the call: the current attempt failed with it, unless the client or an internal error ended the call. */
  end(outcome: Outcome, reason: string): void {
    const attempt = this.#open();
    if (attempt === undefined) return;
    const isOurs = outcome === Outcome.OUTCOME_GATEWAY_ERROR && attempt.answered;
    if (isOurs || !failures.includes(outcome)) return;
    attempt.reason = reason;
    attempt.upstreamRequestId = this.#upstreamRequestId;
  }

  /** Returns the current attempt, as far as is known. */
  #open(): Attempt | undefined {
    const last = this.attempts.at(-1);
    return last?.durationMs === undefined ? last : undefined;
  }

  #add(attempt: Attempt): void {
    if (this.attempts.length < attemptsMax) this.attempts.push(attempt);
  }

  #offset(sinceStartMs: number): number {
    return Math.min(uint32Max, Math.max(0, Math.trunc(this.#startAfterMs + sinceStartMs)));
  }
}

const failures: readonly Outcome[] = [
  Outcome.OUTCOME_REJECTED,
  Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT,
  Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT,
  Outcome.OUTCOME_TIMEOUT,
  Outcome.OUTCOME_GATEWAY_ERROR,
];

/** Returns why a target was chosen and the credential, where either is known. */
function chosen({ choice, credentialId }: Pick<Started, 'choice' | 'credentialId'>): Pick<Attempt, 'choice' | 'credentialId'> {
  return { ...(choice ? { choice } : {}), ...(credentialId === undefined ? {} : { credentialId }) };
}

function attemptAt(target: Started['target'], offsetMs: number): Attempt {
  const { upstreamId = '', upstreamModel = '' } = target ?? {};
  return { upstreamId, upstreamModel, offsetMs, answered: false, reason: '', httpStatus: 0, upstreamRequestId: '' };
}
