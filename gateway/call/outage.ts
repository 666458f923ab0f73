// Says once that a service is away and once that it is back, however many calls feel it.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';

/** Watches over outages of one service. */
export class Outage {
  private sinceMs: number | undefined;
  private calls = 0;

  /** `name` of the service, and what its absence means to calls, both for the log. */
  constructor(
    private readonly name: string,
    private readonly meaning: string,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Whether the service is away, as far as is known. */
  isOn(): boolean {
    return this.sinceMs !== undefined;
  }

  /** The service did not answer. */
  began(error: unknown): void {
    if (this.sinceMs !== undefined) return;
    this.sinceMs = this.clock.monotonicMs();
    this.log.warn({ err: error }, `${this.name} is away: ${this.meaning}`);
  }

  /** A call was refused or put off for it. */
  count(): void {
    this.calls += 1;
  }

  /** The service answered. */
  ended(): void {
    if (this.sinceMs === undefined) return;
    this.log.info({ outage_ms: Math.round(this.clock.monotonicMs() - this.sinceMs), calls: this.calls }, `${this.name} is back`);
    this.sinceMs = undefined;
    this.calls = 0;
  }
}
