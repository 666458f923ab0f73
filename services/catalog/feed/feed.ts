// Notifies watchers of every change: made in this process, made by another replica, or caused by the passage of time.
import { afterAbout } from '#kit/scheduling/shared-timers.js';
import type { Clock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { scheduledPrices } from '../prices/price.js';
import type { CatalogStore, StoredCatalog } from '../store/store.js';

/** Maximum number of watchers per process. */
export const watchersMax = 1000;

/** Holds the dependencies of the feed. */
export interface FeedDeps {
  readonly store: Pick<CatalogStore, 'revision' | 'load'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pollIntervalMs: number;
  readonly heartbeatIntervalMs: number;
}

/**
 * Keeps the latest catalog and wakes watchers when it changes. There are no queues: a slow watcher gets the latest
 * catalog when it reads again, so however slow it is, it costs no memory.
 */
export class CatalogFeed {
  #catalog: StoredCatalog | undefined;
  /** Number of the current state, from 1. A watcher that last read another number has a new state to read. */
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

  /** Whether the last read of the database succeeded. */
  get checked(): boolean {
    return this.#checked;
  }

  /** Loads the catalog and starts to look for changes. Raises what the database raises. */
  async start(): Promise<void> {
    await this.#check();
    this.#loop = this.#run();
  }

  /** Ends all watches and the polling. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endPause();
    this.#wakeWatchers();
    await this.#loop;
  }

  /** Looks for changes now. Called after a change in this process, so that watchers see it before the next poll. */
  changed(): void {
    this.#checkWanted = true;
    this.#endPause();
  }

  /**
   * Yields the catalog immediately and after every change; undefined is a heartbeat. Ends when the feed stops or the signal aborts.
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
          // No heartbeats while the database cannot be read: the catalog may be out of date, and the silence shows that to the watcher.
          yield undefined;
        }
        // Half the interval, so that a slightly late heartbeat still arrives within the announced interval.
        await this.#waitForChange(seen, this.deps.heartbeatIntervalMs / 2, signal);
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
        if (this.#checked) this.deps.log.warn({ err: error }, 'the catalog cannot be read; watchers keep the last version');
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

  /** Waits until the next poll or the next price start, whichever is sooner, or until `changed` or `stop`. */
  async #pause(): Promise<void> {
    const { clock, pollIntervalMs } = this.deps;
    const untilStartMs = this.#nextStartMs === undefined ? pollIntervalMs : Number(this.#nextStartMs) - clock.nowMs();
    if (!this.#checkWanted) {
      await new Promise<void>((resolve) => {
        const cancelPoll = afterAbout(pollIntervalMs, resolve);
        // A price starts at its exact instant. While the database cannot be read, that instant may have passed, and is not waited for.
        const start = this.#checked && untilStartMs < pollIntervalMs ? setTimeout(resolve, Math.max(1, untilStartMs)) : undefined;
        this.#endPause = () => {
          cancelPoll();
          clearTimeout(start);
          resolve();
        };
      });
    }
    this.#checkWanted = false;
  }

  /** Resolves when the state differs from `seen`, after `waitMs`, or when the watch is over. */
  #waitForChange(seen: number, waitMs: number, signal: AbortSignal): Promise<void> {
    if (seen !== this.#version || this.#stopped || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = afterAbout(waitMs, done);
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  #wakeWatchers(): void {
    for (const wake of this.#waiting) wake();
  }
}
