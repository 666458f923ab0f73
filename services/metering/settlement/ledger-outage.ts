// Says once that the ledger is away and once that it is back, however many calls feel it.
import type { Clock } from '#kit/clock.js';
import { hasReason } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';

/** Whether the error means that the ledger did not answer, rather than that it refused. */
export function isLedgerAway(error: unknown): boolean {
  return hasReason(error, 'service_unavailable', 'deadline_exceeded', 'overloaded', 'cancelled');
}

/** Watches over outages of the ledger. */
export class LedgerOutage {
  private sinceMs: number | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** A call to the ledger was not answered. */
  began(error: unknown): void {
    if (this.sinceMs !== undefined) return;
    this.sinceMs = this.clock.nowMs();
    this.log.warn({ err: error }, 'the ledger is away: records are kept and settled when it is back');
  }

  /** A call to the ledger was answered. */
  ended(): void {
    if (this.sinceMs === undefined) return;
    this.log.info({ outage_ms: this.clock.nowMs() - this.sinceMs }, 'the ledger is back');
    this.sinceMs = undefined;
  }
}
