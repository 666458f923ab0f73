// Lets work that arrives while a transaction runs share the next one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { abortError, AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';

/** How a lane works. */
export interface BatchLaneOptions<Item, Outcome> {
  /** Does all of the items in one transaction, in order, and returns the outcome of each; or does none of them and throws. */
  readonly apply: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** Whether one item may be at fault for this error of a batch, so that it is worth finding. */
  readonly isOfOneItem: (error: unknown) => boolean;
  readonly batchMax: number;
  readonly queueMax: number;
}

/** Who waits for the outcome of an item, and for how long. */
export type Waiter = Pick<CallContext, 'signal' | 'deadlineMs'>;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly waiter: Waiter | undefined;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One batch runs at a time; everything that queued up meanwhile goes into the next, at the next turn of the event loop. When a batch
 * fails by the fault of one item, its halves are applied apart, and theirs, so that only that item fails.
 */
export class BatchLane<Item, Outcome = undefined> {
  private readonly queue: Waiting<Item, Outcome>[] = [];
  private running: Promise<void> | undefined;

  constructor(private readonly options: BatchLaneOptions<Item, Outcome>) {}

  /**
   * The outcome of the item once it is applied. Raises overloaded when the queue is full, and what `apply` raises for the item. When
   * its waiter leaves or its waiter's deadline passes before its turn, it is not applied, and cancelled or deadline_exceeded is raised.
   */
  add(item: Item, waiter?: Waiter): Promise<Outcome> {
    if (this.queue.length >= this.options.queueMax) {
      return Promise.reject(new AppError('overloaded', 'Too much is waiting to be stored; try again shortly.', { retryAfterMs: 1000 }));
    }
    return new Promise((resolve, reject) => {
      this.queue.push({ item, waiter, resolve, reject });
      this.running ??= this.run();
    });
  }

  /** How many items wait for their turn. */
  get waiting(): number {
    return this.queue.length;
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

  private async applyBatch(batch: readonly Waiting<Item, Outcome>[]): Promise<void> {
    const wanted = batch.filter(isWanted);
    if (wanted.length === 0) return;
    try {
      const outcomes = await this.options.apply(wanted.map(({ item }) => item));
      wanted.forEach(({ resolve }, index) => resolve(outcomes[index]!));
    } catch (error) {
      if (wanted.length > 1 && this.options.isOfOneItem(error)) {
        const half = Math.ceil(wanted.length / 2);
        await this.applyBatch(wanted.slice(0, half));
        await this.applyBatch(wanted.slice(half));
      } else {
        for (const { reject } of wanted) reject(error);
      }
    }
  }
}

/** Whether somebody still waits; else the item is rejected. */
function isWanted({ waiter, reject }: Waiting<unknown, never>): boolean {
  const error = waiter === undefined ? undefined : endOf(waiter);
  if (error !== undefined) reject(error);
  return error === undefined;
}

function endOf({ signal, deadlineMs }: Waiter): AppError | undefined {
  if (signal.aborted) return abortError(signal);
  // The timer behind the signal is late when the event loop is busy, which is when there is a queue.
  const isLate = deadlineMs !== undefined && deadlineMs <= Date.now();
  return isLate ? new AppError('deadline_exceeded', 'The time was over before its turn came; nothing was done.') : undefined;
}
