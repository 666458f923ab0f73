// Settles calls within a transaction of another service on the same database, so that a record and its settlement are one commit.
import type { Clock } from '#kit/clock.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import type { Logger } from '#kit/log.js';
import type { SettleRequest } from '#proto/ledger/v1/ledger.js';
import { countOperation } from '../ledger-metrics.js';
import { settleOperation } from '../requests/operations.js';
import { applyOperations, type StoreMemory } from '../store/store.js';
import { logShortfalls } from './perform.js';

/** The amount that the ledger took for a call. */
interface Captured {
  readonly capturedNanoUsd: bigint;
  readonly shortfallNanoUsd: bigint;
}

/** The outcome of settlements whose transaction has not committed yet. */
interface SettledInTransaction {
  /** In the order of the requests; undefined where the ledger refuses, as it would refuse Settle. */
  readonly captured: readonly (Captured | undefined)[];
  /** Counts the settlements and logs shortfalls. Call it after the commit. */
  committed(): void;
}

/** Settles at most `operationsMax` calls as Settle does. Raises invalid_request, and the errors of the database. */
export type SettleInTransaction = (tx: PlainTransaction, requests: readonly SettleRequest[]) => Promise<SettledInTransaction>;

/** Returns the function over these dependencies. */
export function settleInTransaction(deps: { clock: Clock; log: Logger; memory: StoreMemory }): SettleInTransaction {
  const { clock, log, memory } = deps;
  return async (tx, requests) => {
    const operations = requests.map((request) => settleOperation(request, true));
    const outcomes = await applyOperations(tx, operations, clock.nowMs(), memory);
    return {
      captured: outcomes.map((outcome) => (outcome.refusal === undefined ? outcome.reply.hold : undefined)),
      committed() {
        outcomes.forEach((outcome, index) => countOperation(operations[index]!, outcome));
        for (const outcome of outcomes) logShortfalls(outcome, log);
      },
    };
  };
}
