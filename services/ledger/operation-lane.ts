// Where operations wait for their transaction: all that arrive while one runs share the next.
import { BatchLane } from '#kit/batch-lane.js';
import type { Clock } from '#kit/clock.js';
import { isDatabaseAway, isRetryable } from '#kit/db/errors.js';
import { AppError } from '#kit/errors/app-error.js';
import type { LedgerConfig } from './config.js';
import type { Applied, Operation, ReplyTo } from './model.js';
import { type Executor, operationsMax } from './store/store.js';

/** The only way to the writing store, see `BatchLane`. An operation that is refused has an outcome like any other. */
export type OperationLane = BatchLane<Operation, Applied<ReplyTo<Operation>>>;

/** The lane of this process. */
export function createOperationLane(deps: { config: Pick<LedgerConfig, 'queueMax'>; store: Executor; clock: Clock }): OperationLane {
  const { config, store, clock } = deps;
  return new BatchLane({
    apply: (operations) => store.execute(operations, clock.nowMs()),
    isOfOneItem: isOfOneOperation,
    batchMax: operationsMax,
    queueMax: config.queueMax,
  });
}

/** Whether the operation itself may be at fault for this error, and neither the database (away, or too busy) nor the queue. */
export function isOfOneOperation(error: unknown): boolean {
  return !(error instanceof AppError) && !isDatabaseAway(error) && !isRetryable(error);
}
