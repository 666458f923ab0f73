// Limits the retries of one model to a share of its calls, so that retries do not multiply the load of an outage. Pure: the caller passes the time.

/** The limits of a budget. */
export interface RetryRules {
  /** Retries per hundred calls. */
  readonly percent: number;
  /** Retries per second that are always allowed, however few calls there are. */
  readonly perSecondMin: number;
}

/** Unused retries expire after this time. */
const windowSeconds = 10;

/** Holds the retries that a model may make. */
export class RetryBudget {
  #available: number;
  #atMs: number;

  constructor(
    private readonly rules: RetryRules,
    nowMs: number,
  ) {
    this.#available = rules.perSecondMin * windowSeconds;
    this.#atMs = nowMs;
  }

  /** Notes a call, which earns its share of a retry. */
  noteCall(nowMs: number): void {
    this.#refill(nowMs);
    // Retries that calls have earned decay within the window; the remainder of the minimum does not.
    this.#available += this.rules.percent / 100;
  }

  /** Takes one retry from the budget. Returns false if there is none left. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#available < 1) return false;
    this.#available -= 1;
    return true;
  }

  #refill(nowMs: number): void {
    const seconds = Math.max(0, nowMs - this.#atMs) / 1000;
    this.#atMs = nowMs;
    const minimum = this.rules.perSecondMin * windowSeconds;
    const earned = Math.max(0, this.#available - minimum) * Math.max(0, 1 - seconds / windowSeconds);
    this.#available = Math.min(minimum, this.#available + this.rules.perSecondMin * seconds) + earned;
  }
}
