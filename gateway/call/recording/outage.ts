// Logs once that a service is unavailable and once that it is back, however many calls are affected.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';

/** Tracks outages of one service. */
export class Outage {
  private sinceMs: number | undefined;
  private calls = 0;

  /** `name` is the service and `meaning` the effect of its outage on calls, both for the log. */
  constructor(
    private readonly name: string,
    private readonly meaning: string,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Reports whether the service is unavailable, as far as is known. */
  isOn(): boolean {
    return this.sinceMs !== undefined;
  }

  /** Notes that the service did not answer. */
  began(error: unknown): void {
    if (this.sinceMs !== undefined) return;
    this.sinceMs = this.clock.monotonicMs();
    this.log.warn({ err: error }, `${this.name} is unavailable: ${this.meaning}`);
  }

  /** Notes that a call was refused or deferred because of the outage. */
  count(): void {
    this.calls += 1;
  }

  /** Notes that the service answered. */
  ended(): void {
    if (this.sinceMs === undefined) return;
    this.log.info({ outage_ms: Math.round(this.clock.monotonicMs() - this.sinceMs), calls: this.calls }, `${this.name} is available again`);
    this.sinceMs = undefined;
    this.calls = 0;
  }
}
