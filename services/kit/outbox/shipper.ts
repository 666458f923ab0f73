// Ships the messages of an outbox, oldest first, until the receiver has acknowledged each.
import type { Logger } from '../log.js';

/** Options of `Shipper`: where messages come from and where they go. */
export interface ShipperOptions<T> {
  /** What the messages are, for log lines: "audit events". */
  readonly what: string;
  /** Returns the oldest messages. */
  read(limit: number): Promise<readonly T[]>;
  /** Resolves once the receiver has stored all of them. May be called again with the same messages. */
  send(messages: readonly T[], signal: AbortSignal): Promise<unknown>;
  remove(messages: readonly T[]): Promise<void>;
  readonly log: Logger;
}

/** Messages per batch: with the longest messages about 1 MB. */
const batchMax = 50;
// How often to check without a call of `wake`, for messages that another replica committed and could not ship.
const idleMs = 60_000;
const retryMsMin = 50;
const retryMsMax = 5000;

/** Ships in the background, one batch at a time. */
export class Shipper<T> {
  readonly #stopping = new AbortController();
  #isAwake = true;
  #endPause: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly options: ShipperOptions<T>) {}

  start(): void {
    this.#running = this.#run();
  }

  /** Checks for messages now, or after the current batch. */
  wake(): void {
    this.#isAwake = true;
    this.#endPause();
  }

  /** Aborts the current batch; its messages stay in the outbox. */
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
        if (failures > 0) this.options.log.info(`${this.options.what} can be shipped again`);
        failures = 0;
        if (shipped < batchMax) await this.#pause(idleMs, () => this.#isAwake);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        // Each outage is logged once.
        if (failures === 1) this.options.log.warn({ err: error }, `${this.options.what} could not be shipped; they stay in the outbox`);
        await this.#pause(Math.min(retryMsMin * 2 ** (failures - 1), retryMsMax), () => false);
      }
    }
  }

  async #shipBatch(): Promise<number> {
    const { read, send, remove } = this.options;
    const messages = await read(batchMax);
    if (messages.length === 0) return 0;
    await send(messages, this.#stopping.signal);
    await remove(messages);
    return messages.length;
  }

  /** Waits for `ms`, or until the shipper stops or `isOver` returns true at a call of `wake`. */
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
