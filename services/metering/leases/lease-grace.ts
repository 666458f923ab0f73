// When leases count again: after a period in which no lease could be renewed, every call first gets the chance to renew its own.
import type { Clock } from '#kit/clock.js';

/** A change in the difference between the clocks that exceeds this means that the clock was set, not gradually corrected. */
const stepMsMin = 1000;

/**
 * Lasts one lease from the start of this replica, from each time that its database was unavailable, and from each time that the wall clock was
 * set: leases are stored as wall clock times, and a step forward would end them all at once.
 */
export class LeaseGrace {
  /** In monotonic time, so that no step of the wall clock ends it. */
  private untilMs = 0;
  private offsetMs: number;

  constructor(
    private readonly clock: Clock,
    private readonly leaseMs: number,
  ) {
    this.offsetMs = this.clocksApartMs();
    this.begin();
  }

  /** Starts the grace period: until now no call could be checkpointed. */
  begin(): void {
    this.untilMs = this.clock.monotonicMs() + this.leaseMs;
  }

  /** Reports whether the grace period is active, during which no lease counts as expired. */
  isOn(): boolean {
    const offsetMs = this.clocksApartMs();
    if (Math.abs(offsetMs - this.offsetMs) > stepMsMin) this.begin();
    this.offsetMs = offsetMs;
    return this.clock.monotonicMs() < this.untilMs;
  }

  private clocksApartMs(): number {
    return this.clock.nowMs() - this.clock.monotonicMs();
  }
}
