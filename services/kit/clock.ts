// The only source of time in services and gateway, so that tests can set it.

/** Tells the time. */
export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
}

/** The machine's clock. */
export const systemClock: Clock = { nowMs: () => Date.now() };

/** A clock that stands still until it is moved, for tests. */
export class ManualClock implements Clock {
  constructor(private currentMs = 1_800_000_000_000) {}

  nowMs(): number {
    return this.currentMs;
  }

  advance(ms: number): void {
    this.currentMs += ms;
  }
}
