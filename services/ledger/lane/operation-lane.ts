// Where operations wait for their transaction: all that arrive while one runs share the next.
import { BatchLane } from '#kit/scheduling/batch-lane.js';
import type { Clock } from '#kit/clock.js';
import { isDatabaseUnavailable, isRetryable } from '#kit/db/errors.js';
import type { Engine } from '#kit/db/open.js';
import { AppError } from '#client/errors/app-error.js';
import type { LedgerConfig } from '../config.js';
import type { Applied, Operation, ReplyTo } from '../books/model.js';
import { slotCount } from '../books/slot.js';
import { accountColumns } from '../store/rows.js';
import { type Executor, operationsMax } from '../store/store.js';

/** Takes operations that change the books. A refusal is an outcome like any other, not an error. */
export type OperationLane = Pick<BatchLane<Operation, Applied<ReplyTo<Operation>>>, 'add' | 'idle' | 'waiting'>;

/**
 * Creates the lanes of this process, presented as one (see `BatchLane`). Each serves the accounts of a range of slots, and so rows that no other uses: lanes
 * never wait for each other, and a locked account delays its own lane only. A SQLite file has one slot, so one lane.
 */
export function createOperationLane(deps: {
  config: Pick<LedgerConfig, 'queueMax' | 'lanes'>;
  engine: Engine;
  store: Executor;
  clock: Clock;
  /** Resolves when a transaction can begin. */
  turn?: (waiting: () => number) => Promise<void>;
}): OperationLane {
  const { config, engine, store, clock, turn } = deps;
  const slots = slotCount[engine];
  const count = Math.min(config.lanes, slots);
  const lanes = Array.from(
    { length: count },
    () =>
      new BatchLane<Operation, Applied<ReplyTo<Operation>>>({
        name: 'ledger operations',
        apply: (operations, onApplied) => store.execute(operations, clock.nowMs(), onApplied),
        ...(turn === undefined ? {} : { turn }),
        isOfOneItem: isOfOneOperation,
        batchMax: operationsMax,
        // Callers such as Checkpoint add as many operations of one account at once as a transaction takes.
        queueMax: Math.max(operationsMax, Math.ceil(config.queueMax / count)),
      }),
  );
  const laneOf = (accountId: string) => lanes[count === 1 ? 0 : Math.floor((accountColumns(accountId, engine).slot * count) / slots)]!;
  return {
    add: (operation, waiter, onApplied) => laneOf(operation.accountId).add(operation, waiter, onApplied),
    get waiting() {
      return lanes.reduce((sum, lane) => sum + lane.waiting, 0);
    },
    async idle() {
      await Promise.all(lanes.map((lane) => lane.idle()));
    },
  };
}

/** Reports whether one operation may have caused this error, rather than the database (unavailable or too busy) or the queue. */
export function isOfOneOperation(error: unknown): boolean {
  return !(error instanceof AppError) && !isDatabaseUnavailable(error) && !isRetryable(error);
}
