// Logs once that the ledger is unavailable and once that it is back, however many calls are affected.
import type { Clock } from '#kit/clock.js';
import { type AppError, hasReason } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';

/** Reports whether the error means that the ledger did not respond, rather than that it refused. */
export function isLedgerUnavailable(error: unknown): boolean {
  return hasReason(error, 'service_unavailable', 'deadline_exceeded', 'overloaded', 'cancelled');
}

/** Reports whether a retry would get the same response from the ledger. */
export function isRefusal(error: unknown): error is AppError {
  return hasReason(error, 'invalid_request', 'idempotency_mismatch', 'hold_closed', 'not_found', 'failed_precondition');
}

/** Tracks outages of the ledger. */
export class LedgerOutage {
  private sinceMs: number | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Reports whether the ledger did not respond to the last request. */
  isOn(): boolean {
    return this.sinceMs !== undefined;
  }

  /** Called when the ledger did not respond. */
  began(error: unknown): void {
    if (this.sinceMs !== undefined) return;
    this.sinceMs = this.clock.nowMs();
    this.log.warn({ err: error }, 'the ledger is unavailable: records are kept, and settled when it is available again');
  }

  /** Called when the ledger responded. */
  ended(): void {
    if (this.sinceMs === undefined) return;
    this.log.info({ outage_ms: this.clock.nowMs() - this.sinceMs }, 'the ledger is available again');
    this.sinceMs = undefined;
  }
}
