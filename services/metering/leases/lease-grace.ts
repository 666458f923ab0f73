// When leases count again: after a time in which nobody could renew one, all calls first get their chance to.
import type { Clock } from '#kit/clock.js';

/** One lease from the start of this replica, and from each time that its database was away. */
export class LeaseGrace {
  private untilMs = 0;

  constructor(
    private readonly clock: Clock,
    private readonly leaseMs: number,
  ) {
    this.begin();
  }

  /** Until now no call could be checkpointed. */
  begin(): void {
    this.untilMs = this.clock.nowMs() + this.leaseMs;
  }

  /** Whether no lease counts as over yet. */
  isOn(): boolean {
    return this.clock.nowMs() < this.untilMs;
  }
}
