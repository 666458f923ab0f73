// Lets work that arrives while a transaction runs share the next one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '#kit/errors/app-error.js';

/** How a lane works. */
export interface BatchLaneOptions<Item> {
  /** Does all of the items in one transaction, or none of them and throws. */
  readonly apply: (items: readonly Item[]) => Promise<void>;
  /** Whether one item may be at fault for this error of a batch, so that the items are worth trying one by one. */
  readonly isOfOneItem: (error: unknown) => boolean;
  readonly batchMax: number;
  readonly queueMax: number;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One batch runs at a time; everything that queued up meanwhile goes into the next, at the next turn of the event loop. When a batch fails by
 * the fault of one item, each is applied alone, so that its neighbours do not fail with it.
 */
export class BatchLane<Item> {
  private readonly queue: Waiting<Item>[] = [];
  private running: Promise<void> | undefined;

  constructor(private readonly options: BatchLaneOptions<Item>) {}

  /** Resolves once the item is applied. Raises overloaded when the queue is full, and what `apply` raises for the item. */
  add(item: Item): Promise<void> {
    if (this.queue.length >= this.options.queueMax) {
      return Promise.reject(new AppError('overloaded', 'Too much is waiting to be stored; try again shortly.', { retryAfterMs: 1000 }));
    }
    return new Promise((resolve, reject) => {
      this.queue.push({ item, resolve, reject });
      this.running ??= this.run();
    });
  }

  /** Resolves once nothing waits any more. */
  async idle(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  private async run(): Promise<void> {
    while (this.queue.length > 0) {
      // All that arrives in this turn of the event loop goes together. A driver that blocks (SQLite's) would otherwise be done
      // with each item before the next one can arrive.
      await nextTurn();
      await this.applyBatch(this.queue.splice(0, this.options.batchMax));
    }
    this.running = undefined;
  }

  private async applyBatch(batch: readonly Waiting<Item>[]): Promise<void> {
    try {
      await this.options.apply(batch.map(({ item }) => item));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (batch.length > 1 && this.options.isOfOneItem(error)) {
        for (const waiting of batch) await this.applyBatch([waiting]);
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}
