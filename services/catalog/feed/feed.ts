// Tells watchers of every change: one made in this process, one that another replica made, and one that time brings.
import type { Clock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { scheduledPrices } from '../prices/price.js';
import type { CatalogStore, StoredCatalog } from '../store/store.js';

/** How many watchers one process serves. */
export const watchersMax = 1000;

/** What the feed works with. */
export interface FeedDeps {
  readonly store: Pick<CatalogStore, 'revision' | 'load'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pollIntervalMs: number;
  readonly heartbeatIntervalMs: number;
}

/**
 * Keeps the latest catalog and wakes watchers when there is news. There are no queues: a watcher that is slow finds the latest
 * catalog when it comes back, so however slow it is, it costs no memory.
 */
export class CatalogFeed {
  #catalog: StoredCatalog | undefined;
  /** Counts what watchers must see, from 1 on: a watcher that has seen another number has something to fetch. */
  #version = 0;
  #nextStartMs: bigint | undefined;
  #checked = false;
  #stopped = false;
  #watchers = 0;
  #loop: Promise<void> = Promise.resolve();
  #checkWanted = false;
  #endPause: () => void = () => {};
  readonly #waiting = new Set<() => void>();

  constructor(private readonly deps: FeedDeps) {}

  /** Whether the last look at the database succeeded. */
  get checked(): boolean {
    return this.#checked;
  }

  /** Loads the catalog and begins to look for changes. Raises what the database raises. */
  async start(): Promise<void> {
    await this.#check();
    this.#loop = this.#run();
  }

  /** Ends every watch and the polling. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endPause();
    this.#wakeWatchers();
    await this.#loop;
  }

  /** To be called after a change of this process: watchers hear of it without waiting for the next poll. */
  changed(): void {
    this.#checkWanted = true;
    this.#endPause();
  }

  /**
   * The catalog at once and again after every change; undefined is a heartbeat. Ends when the feed stops or the signal aborts.
   * Raises overloaded when there are too many watchers.
   */
  async *watch(signal: AbortSignal): AsyncGenerator<StoredCatalog | undefined, void, undefined> {
    if (this.#watchers >= watchersMax) throw new AppError('overloaded', 'The catalog has too many watchers; try again later.');
    this.#watchers += 1;
    try {
      let seen = 0;
      while (!this.#stopped && !signal.aborted) {
        if (seen !== this.#version && this.#catalog !== undefined) {
          seen = this.#version;
          yield this.#catalog;
        } else if (this.#checked) {
          // Not while the database cannot be read: then nobody knows whether the catalog is still right, and silence says so.
          yield undefined;
        }
        // Half the interval, so that a heartbeat that is a little late still comes within the announced one.
        await this.#news(seen, this.deps.heartbeatIntervalMs / 2, signal);
      }
    } finally {
      this.#watchers -= 1;
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.#pause();
      if (this.#stopped) return;
      try {
        await this.#check();
      } catch (error) {
        if (this.#checked) this.deps.log.warn({ err: error }, 'the catalog cannot be read; watchers keep the last one');
        this.#checked = false;
      }
    }
  }

  async #check(): Promise<void> {
    const { store, clock } = this.deps;
    const nowMs = clock.nowMs();
    const changed = (await store.revision()) !== this.#catalog?.revision;
    if (changed) this.#catalog = await store.load(nowMs);
    this.#checked = true;
    const priceStarted = this.#nextStartMs !== undefined && this.#nextStartMs <= BigInt(nowMs);
    if (!changed && !priceStarted) return;
    this.#nextStartMs = scheduledPrices(this.#catalog?.prices ?? [], nowMs)[0]?.effectiveFromMs;
    this.#version += 1;
    this.#wakeWatchers();
  }

  /** Until the next poll or the next price start, whichever is sooner, or until `changed` or `stop`. */
  async #pause(): Promise<void> {
    const { clock, pollIntervalMs } = this.deps;
    const untilStartMs = this.#nextStartMs === undefined ? pollIntervalMs : Number(this.#nextStartMs) - clock.nowMs();
    if (!this.#checkWanted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(1, Math.min(pollIntervalMs, untilStartMs)));
        this.#endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#checkWanted = false;
  }

  /** Resolves when there is something that `seen` is not, after `waitMs`, or when the watch is over. */
  #news(seen: number, waitMs: number, signal: AbortSignal): Promise<void> {
    if (seen !== this.#version || this.#stopped || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  #wakeWatchers(): void {
    for (const wake of this.#waiting) wake();
  }
}
