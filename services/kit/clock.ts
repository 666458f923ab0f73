// The only source of time in services and gateway, so that tests can set it.

/** Returns the time. */
export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
  /** For measuring intervals: milliseconds since an arbitrary instant, the same in all threads, unaffected when the time of day is set. */
  monotonicMs(): number;
}

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
/** How far the clocks of processes may differ, where no setting says so. */
export const clockSkewMs = minuteMs;

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs() {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1000 + nanoseconds / 1e6;
  },
};

/** A clock that does not advance until it is moved, for tests. */
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

  /** Changes the time of day by this much, forwards or back, without letting time pass. */
  step(ms: number): void {
    this.currentMs += ms;
  }
}
