// Finds out whether a database accepts writes: one that still answers queries may be read-only, or its disk may be full.
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '../clock.js';
import type { Dialect } from './migrations/dialect.js';
import type { PlainTransaction } from './plain/plain-transaction.js';
import { isConnectionLost, isPoolExhausted, isRetryable, isUnwritable } from './errors.js';

/** How long a successful write is trusted while no transaction fails. */
const trustedMs = 5000;
/** How long after a failed write the next one is attempted. */
const retryMs = 1000;
/** How long a caller waits for a write that is under way. */
const patienceMs = 500;
/** A write that takes longer counts as failed. */
const overdueMs = 3000;

// Processes that write the same row at the same time wait for each other, so each process writes a row chosen at random, which few others share.
const slots = 1000;
const slot = randomInt(slots);

/** Returns the statement that creates the table of the probe. */
export function probeTable({ int32, int64, tableOptions }: Dialect): string {
  return `CREATE TABLE IF NOT EXISTS write_probe (slot ${int32} NOT NULL PRIMARY KEY, written_at_ms ${int64} NOT NULL) ${tableOptions}`;
}

/** Writes the row of this process. */
export async function writeRow(tx: PlainTransaction): Promise<void> {
  await tx.run('REPLACE INTO write_probe (slot, written_at_ms) VALUES (?, ?)', [slot, Date.now()]);
}

/** Checks whether one database accepts writes. */
export class WriteProbe {
  private isSound = false;
  private writtenAtMs = Number.NEGATIVE_INFINITY;
  private running: { readonly sinceMs: number; readonly done: Promise<void> } | undefined;

  /** `write` commits a small row. */
  constructor(
    private readonly write: () => Promise<unknown>,
    private readonly clock: Pick<Clock, 'monotonicMs'> = systemClock,
    private readonly waitMs = patienceMs,
  ) {}

  /** Notes the error of any transaction, so that a full disk or a lost server is noticed with the first call that it fails. */
  readonly note = (error: unknown): void => {
    if (isUnwritable(error) || isConnectionLost(error)) this.set(false);
  };

  /** Reports whether the last write succeeded. Writes again when that was long ago; never raises. */
  async isWritable(): Promise<boolean> {
    const nowMs = this.clock.monotonicMs();
    if (this.running === undefined && nowMs - this.writtenAtMs >= (this.isSound ? trustedMs : retryMs))
      this.running = { sinceMs: nowMs, done: this.probe(nowMs) };
    if (this.running === undefined) return this.isSound;
    await Promise.race([this.running.done, delay(this.waitMs, undefined, { ref: false })]);
    return this.isSound && !(this.running !== undefined && this.isOverdue(this.running.sinceMs));
  }

  private async probe(sinceMs: number): Promise<void> {
    try {
      await this.write();
      this.set(true);
    } catch (error) {
      // A busy database can still write, unless it is too busy.
      if (this.isOverdue(sinceMs) || !(isPoolExhausted(error) || isRetryable(error))) this.set(false);
    }
    this.running = undefined;
  }

  private isOverdue(sinceMs: number): boolean {
    return this.clock.monotonicMs() - sinceMs >= overdueMs;
  }

  private set(isSound: boolean): void {
    this.isSound = isSound;
    this.writtenAtMs = this.clock.monotonicMs();
  }
}
