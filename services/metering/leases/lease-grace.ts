// Decides when leases count and when lost calls are settled: after metering was unavailable, gateways first get their full time again.
import { type Clock, systemClock } from '#kit/clock.js';

/** A change in the difference between the clocks that exceeds this means that the clock was set, not gradually corrected. */
const stepMsMin = 1000;

/** The settings of metering that are used here. */
export interface GraceSettings {
  readonly leaseMs: number;
  readonly lostGraceMs: number;
  readonly sweepIntervalMs: number;
}

/**
 * Measures the grace period. It begins at the start of this replica, each time that the replica or its database was unavailable, and each time that the
 * wall clock was set: leases and due times are stored as wall clock times, and a step forward would end them all at once.
 */
export class LeaseGrace {
  /** In monotonic time, so that no step of the wall clock ends the grace period. */
  private begunAtMs = 0;
  private offsetMs: number;
  private availableAtMs: number;
  private readonly pauseMsMax: number;

  /** `pauseClock` measures the pauses of this replica. */
  constructor(
    private readonly clock: Clock,
    private readonly settings: GraceSettings,
    private readonly pauseClock: Pick<Clock, 'monotonicMs'> = systemClock,
  ) {
    this.pauseMsMax = settings.leaseMs / 2 + settings.sweepIntervalMs;
    this.offsetMs = this.clocksApartMs();
    this.availableAtMs = pauseClock.monotonicMs();
    this.begin();
  }

  /** Starts the grace period: until now no call could be checkpointed or reported. */
  begin(): void {
    this.begunAtMs = this.clock.monotonicMs();
  }

  /** Notes that the database answered. Starts the grace period if this replica or the database did not run before. */
  noteAvailable(): void {
    const nowMs = this.pauseClock.monotonicMs();
    if (nowMs - this.availableAtMs > this.pauseMsMax) this.begin();
    this.availableAtMs = nowMs;
  }

  /** Reports whether no lease counts as expired, because gateways may not have had time to renew them. */
  isOn(): boolean {
    return this.lastedMs() < this.settings.leaseMs;
  }

  /** Reports whether no lost call may be settled, because gateways may not have had time to report it. */
  isAwaitingReports(): boolean {
    return this.lastedMs() < this.settings.lostGraceMs;
  }

  /** Returns for how long calls could be checkpointed and reported without interruption. */
  lastedMs(): number {
    const offsetMs = this.clocksApartMs();
    if (Math.abs(offsetMs - this.offsetMs) > stepMsMin) this.begin();
    this.offsetMs = offsetMs;
    return this.clock.monotonicMs() - this.begunAtMs;
  }

  private clocksApartMs(): number {
    return this.clock.nowMs() - this.clock.monotonicMs();
  }
}
