// When leases count again: after a time in which nobody could renew one, every call first gets the chance to.
import type { Clock } from '#kit/clock.js';

/** A difference between the clocks that changes by more than this was set, not corrected bit by bit. */
const stepMsMin = 1000;

/**
 * One lease from the start of this replica, from each time that its database was unavailable, and from each time that the wall clock was
 * set: leases are stored as times of day, and a step forward would end them all at once.
 */
export class LeaseGrace {
  /** By the monotonic clock, so that no step of the wall clock ends it. */
  private untilMs = 0;
  private offsetMs: number;

  constructor(
    private readonly clock: Clock,
    private readonly leaseMs: number,
  ) {
    this.offsetMs = this.clocksApartMs();
    this.begin();
  }

  /** Begins the grace: until now no call could be checkpointed. */
  begin(): void {
    this.untilMs = this.clock.monotonicMs() + this.leaseMs;
  }

  /** Returns whether no lease counts as over yet. */
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
