// Lets work that arrives while a transaction runs share the next one.
import { abortError, AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import { LocalCall } from '../rpc/local/local-call.js';
import { gauge, histogram } from '../telemetry/metrics.js';
import { nextTurn } from './turn.js';
import type { Span } from '@opentelemetry/api';
import { inBatchSpan } from '../telemetry/traces/batch-span.js';
import { recordedSpan } from '../telemetry/traces/recorded-trace.js';

const labels = { lane: 'The kind of items.' };
const batchSize = histogram(
  { name: 'tollgate.batch.size', unit: '{item}', description: 'Items that shared a transaction or a write.', by: 'services', labels },
  [1, 2, 5, 10, 20, 50, 100, 200],
);
const queued = gauge({
  name: 'tollgate.batch.queue',
  unit: '{item}',
  description: 'Items that wait for their transaction or write.',
  by: 'services',
  labels,
});

/** Options of `BatchLane`. */
export interface BatchLaneOptions<Item, Outcome> {
  /** What is applied, in spans and metrics: "ledger operations". */
  readonly name: string;
  /**
   * Applies all of the items in one transaction, in order, and returns the outcome of each once they are durable; or applies none of them and throws.
   * It may call `onApplied` with the outcomes before they are durable.
   */
  readonly apply: (items: readonly Item[], onApplied: (outcomes: readonly Outcome[]) => void) => Promise<readonly Outcome[]>;
  /**
   * Resolves when a transaction can begin; by default at the next turn of the event loop. The items of the next batch are taken then. `waiting` returns
   * how many there are so far.
   */
  readonly turn?: (waiting: () => number) => Promise<void>;
  /** Reports whether a single item may have caused this error of a batch; the lane then applies smaller batches to find it. */
  readonly isOfOneItem: (error: unknown) => boolean;
  readonly batchMax: number;
  readonly queueMax: number;
}

/** The caller that waits for the outcome of an item, and for how long. */
export type Waiter = Pick<CallContext, 'signal' | 'deadlineMs'>;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly waiter: Waiter | undefined;
  readonly span: Span | undefined;
  readonly onApplied: ((outcome: Outcome) => void) | undefined;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs one batch at a time. Items that queue up meanwhile go into the next batch. When one item makes
 * a batch fail, its halves are applied separately, and then theirs, so that only that item fails.
 */
export class BatchLane<Item, Outcome = undefined> {
  private readonly queue: Waiting<Item, Outcome>[] = [];
  private running: Promise<void> | undefined;

  private readonly size;
  private readonly queued;

  constructor(private readonly options: BatchLaneOptions<Item, Outcome>) {
    this.size = batchSize.of({ lane: options.name });
    this.queued = queued.of({ lane: options.name });
  }

  /**
   * Returns the outcome of the item once it is durable, and passes it to `onApplied` if `apply` reports it earlier. Raises overloaded when the queue
   * is full, and what `apply` raises for the item. When its caller disconnects or the caller's deadline passes before its turn, it is not
   * applied, and cancelled or deadline_exceeded is raised.
   */
  add(item: Item, waiter?: Waiter, onApplied?: (outcome: Outcome) => void): Promise<Outcome> {
    if (this.queue.length >= this.options.queueMax) {
      return Promise.reject(new AppError('overloaded', 'Too much is waiting to be stored; try again shortly.', { retryAfterMs: 1000 }));
    }
    return new Promise((resolve, reject) => {
      this.queue.push({ item, waiter, span: recordedSpan(), onApplied, resolve, reject });
      this.queued.add();
      this.running ??= this.run();
    });
  }

  /** Returns how many items wait for their turn. */
  get waiting(): number {
    return this.queue.length;
  }

  /** Resolves once the queue is empty. */
  async idle(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  private async run(): Promise<void> {
    const waiting = (): number => this.queue.length;
    while (this.queue.length > 0) {
      // The items of one turn of the event loop go together. A driver that blocks (SQLite's) would otherwise finish
      // each item before the next one can arrive.
      await (this.options.turn ?? nextTurn)(waiting);
      const batch = this.queue.splice(0, this.options.batchMax);
      this.queued.add(-batch.length);
      this.size.record(batch.length);
      await this.applyBatch(batch);
    }
    this.running = undefined;
  }

  private async applyBatch(batch: readonly Waiting<Item, Outcome>[]): Promise<void> {
    const wanted = batch.filter(isWanted);
    if (wanted.length === 0) return;
    try {
      const outcomes = await inBatchSpan(
        `batch ${this.options.name}`,
        wanted.map(({ span }) => span),
        () =>
          this.options.apply(
            wanted.map(({ item }) => item),
            (applied) => wanted.forEach(({ onApplied }, index) => onApplied?.(applied[index]!)),
          ),
      );
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

/** Reports whether the caller still waits; otherwise the item is rejected. */
function isWanted({ waiter, reject }: Waiting<unknown, never>): boolean {
  const error = waiter === undefined ? undefined : endOf(waiter);
  if (error !== undefined) reject(error);
  return error === undefined;
}

function endOf(waiter: Waiter): AppError | undefined {
  // Reading the signal of a local call would create it.
  if (waiter instanceof LocalCall) {
    if (waiter.endedBy !== undefined) return waiter.endedBy;
  } else if (waiter.signal.aborted) return abortError(waiter.signal);
  const { deadlineMs } = waiter;
  // The timer behind the signal fires late when the event loop is busy, which is exactly when there is a queue.
  const isLate = deadlineMs !== undefined && deadlineMs <= Date.now();
  return isLate ? new AppError('deadline_exceeded', 'The deadline passed while the operation was waiting; nothing was done.') : undefined;
}
