// The only source of time in services and gateway, so that tests can set it.

/** Tells the time. */
export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
  /** For waits: milliseconds since some instant, which go on evenly while the time of day is set. */
  monotonicMs(): number;
}

/** The machine's clock. */
export const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

/** A clock that stands still until it is moved, for tests. */
export class ManualClock implements Clock {
  private passedMs = 0;

  constructor(private currentMs = 1_800_000_000_000) {}

  nowMs(): number {
    return this.currentMs;
  }

  monotonicMs(): number {
    return this.passedMs;
  }

  advance(ms: number): void {
    this.currentMs += ms;
    this.passedMs += ms;
  }

  /** Sets the time of day by so much, in which no time passes; also back. */
  step(ms: number): void {
    this.currentMs += ms;
  }
}
