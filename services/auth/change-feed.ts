// Notifies watchers of every change, whichever replica made it. One loop reads the changes of the shared database for all watchers of
// this process; a change made in this process only wakes the loop early, so that there is one source and one order.
import { afterAbout } from '#kit/scheduling/shared-timers.js';
import { AppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import type { Change, ChangeStore } from './store/changes.js';

/** Holds the options of the feed. */
export interface ChangeFeedOptions {
  readonly pollIntervalMs: number;
  /** Maximum number of changes queued for one watcher; a watcher that falls further behind is dropped. */
  readonly watcherQueueMax?: number;
  readonly watchersMax?: number;
}

// Each change names up to 150 models of 200 characters (requests/fields.ts), so that a message stays below 1.6 MB, far below the largest.
const messageChangesMax = 50;
const watcherQueueMaxDefault = 10_000;
const watchersMaxDefault = 1000;

/** Pushes changes to the watchers of one process. */
export class ChangeFeed {
  private readonly watchers = new Set<Watcher>();
  private readonly watcherQueueMax: number;
  private readonly watchersMax: number;
  private cursor = 0;
  private loop: Promise<void> | undefined;
  private stopping = false;
  private failing = false;
  private woken = false;
  private endSleep: (() => void) | undefined;

  constructor(
    private readonly store: Pick<ChangeStore, 'lastNumber' | 'changesAfter'>,
    private readonly options: ChangeFeedOptions,
    private readonly log: Logger,
  ) {
    this.watcherQueueMax = options.watcherQueueMax ?? watcherQueueMaxDefault;
    this.watchersMax = options.watchersMax ?? watchersMaxDefault;
  }

  /** Starts with the changes that are made from now on. */
  async start(): Promise<void> {
    this.cursor = await this.store.lastNumber();
    this.loop = this.run();
  }

  /** Ends all watches and the loop. */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const watcher of this.watchers) watcher.end();
    this.wake();
    await this.loop;
  }

  /** Pushes a change immediately instead of with the next poll. Call it after a change was committed in this process. */
  wake(): void {
    this.woken = true;
    this.endSleep?.();
  }

  /** Reports whether the last read of changes succeeded. */
  get upToDate(): boolean {
    return this.loop !== undefined && !this.failing && !this.stopping;
  }

  /** Returns the number of open watches. */
  get watcherCount(): number {
    return this.watchers.size;
  }

  /**
   * Yields once immediately without a change, then after every poll: the changes, or nothing, which means that up to now nothing
   * else has changed. While the database does not respond it yields nothing. Ends when the signal aborts or the feed stops. Raises
   * overloaded when the consumer falls too far behind, and when there are too many watchers.
   */
  async *watch(signal: AbortSignal): AsyncGenerator<Change[]> {
    if (this.stopping) throw new AppError('service_unavailable', 'The service is stopping; watch another replica.');
    if (this.watchers.size >= this.watchersMax) throw new AppError('overloaded', 'Too many watchers; watch another replica.');
    const watcher = new Watcher(this.watcherQueueMax);
    const leave = (): void => watcher.end();
    this.watchers.add(watcher);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      yield [];
      for (let changes = await watcher.next(); changes !== undefined; changes = await watcher.next()) yield changes;
    } finally {
      signal.removeEventListener('abort', leave);
      this.watchers.delete(watcher);
    }
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      // Cleared before the poll, since a change committed during it may be too late for it.
      this.woken = false;
      await this.poll();
      if (!this.woken) await this.sleep();
    }
  }

  private async poll(): Promise<void> {
    try {
      for (let more = true; more && !this.stopping;) {
        const batch = await this.store.changesAfter(this.cursor, messageChangesMax);
        this.cursor = batch.upTo;
        more = batch.more;
        for (const watcher of this.watchers) watcher.push(batch.changes);
      }
      if (this.failing) this.log.info('changes can be read again');
      this.failing = false;
    } catch (error) {
      // The cursor stays, so that nothing is missed; the silence makes watchers stop trusting their caches.
      if (!this.failing) this.log.error({ err: error }, 'changes cannot be read; watchers receive nothing in the meantime');
      this.failing = true;
    }
  }

  private async sleep(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = afterAbout(this.options.pollIntervalMs, resolve);
      this.endSleep = () => {
        cancel();
        resolve();
      };
    });
    this.endSleep = undefined;
  }
}

/** Holds the changes queued for one consumer. */
class Watcher {
  private waiting: Change[] = [];
  private ended = false;
  private failure: AppError | undefined;
  private wakeConsumer: (() => void) | undefined;

  constructor(private readonly queueMax: number) {}

  /** Queues changes. An empty message reaches only a consumer that is waiting, since for another one it would be outdated when read. */
  push(changes: readonly Change[]): void {
    if (this.waiting.length + changes.length > this.queueMax) {
      this.failure = new AppError('overloaded', 'This watcher reads too slowly and has missed changes; watch again with an empty cache.');
      this.waiting = [];
    }
    if (this.failure === undefined) this.waiting.push(...changes);
    this.wakeConsumer?.();
  }

  end(): void {
    this.ended = true;
    this.wakeConsumer?.();
  }

  /** Returns the next changes, none for a heartbeat, or undefined when the watch is over. */
  async next(): Promise<Change[] | undefined> {
    if (!this.ended && this.failure === undefined && this.waiting.length === 0) {
      await new Promise<void>((resolve) => (this.wakeConsumer = resolve));
      this.wakeConsumer = undefined;
    }
    if (this.failure !== undefined) throw this.failure;
    return this.ended ? undefined : this.waiting.splice(0, messageChangesMax);
  }
}
