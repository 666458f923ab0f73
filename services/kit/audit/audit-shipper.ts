// Ships the audit events of an outbox, oldest first, until the receiver has acknowledged each.
import type { Logger } from '../log.js';
import type { AuditRecord } from './audit-event.js';

/** Options of `AuditShipper`: where events come from and where they go. */
export interface AuditShipperOptions {
  /** Returns the oldest events. */
  read(limit: number): Promise<readonly AuditRecord[]>;
  /** Resolves once all of them are in the audit log. May be called again with the same events. */
  send(events: readonly AuditRecord[], signal: AbortSignal): Promise<unknown>;
  remove(events: readonly AuditRecord[]): Promise<void>;
  readonly log: Logger;
}

/** Events in one message: with the longest details about 1 MB. */
const eventsPerBatchMax = 50;
// Finds events that another replica committed and could not ship.
const idleMs = 60_000;
const retryMsMin = 50;
const retryMsMax = 5000;

/** Ships in the background, one batch at a time. */
export class AuditShipper {
  readonly #stopping = new AbortController();
  #isAwake = true;
  #endPause: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly options: AuditShipperOptions) {}

  start(): void {
    this.#running = this.#run();
  }

  /** Checks for events now, or after the current batch. */
  wake(): void {
    this.#isAwake = true;
    this.#endPause();
  }

  /** Aborts the current batch; its events stay in the outbox. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#endPause();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      try {
        this.#isAwake = false;
        const shipped = await this.#shipBatch();
        if (failures > 0) this.options.log.info('audit events are shipped again');
        failures = 0;
        if (shipped < eventsPerBatchMax) await this.#pause(idleMs, () => this.#isAwake);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        // Each outage is logged once.
        if (failures === 1) this.options.log.warn({ err: error }, 'audit events could not be shipped; they stay in the outbox');
        await this.#pause(Math.min(retryMsMin * 2 ** (failures - 1), retryMsMax), () => false);
      }
    }
  }

  async #shipBatch(): Promise<number> {
    const { read, send, remove } = this.options;
    const events = await read(eventsPerBatchMax);
    if (events.length === 0) return 0;
    await send(events, this.#stopping.signal);
    await remove(events);
    return events.length;
  }

  /** Waits until the shipper stops or `isOver` returns true at a call of `wake`, at the latest. */
  async #pause(ms: number, isOver: () => boolean): Promise<void> {
    if (isOver() || this.#stopping.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#endPause = () => {
        if (!isOver() && !this.#stopping.signal.aborted) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
