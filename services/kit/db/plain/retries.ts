// Decides when a transaction or statement that failed because of a conflict or a lost connection is retried.
import { setTimeout as delay } from 'node:timers/promises';
import { isConnectionLost, isRetryable, isUnreachable } from '../errors.js';

/** Options of a transaction. */
export interface TransactionOptions {
  /**
   * Whether the work finds by its ids what it has already done, so that it can be retried when the connection was lost during COMMIT
   * and the outcome is unknown. Otherwise the caller gets the error of a lost connection.
   */
  readonly isRepeatable?: boolean;
  /**
   * Whether a power failure may undo the commit, because the lost work is then done again. SQLite skips the sync to disk, which blocks
   * all other transactions; earlier commits stay intact, and the next transaction without this option syncs them all. MySQL always syncs.
   */
  readonly mayBeLost?: boolean;
}

/**
 * Maximum number of retries after deadlocks, lock waits, and conflicts with a writer on another node of a Galera cluster, which may fail the COMMIT
 * like any statement.
 */
const conflictsMax = 9;
/** Maximum number of retries after lost connections. */
const lossesMax = 3;
const backoffMs = 5;

/** Wraps the work of a transaction to record when it has ended and COMMIT follows. */
type TrackCommit = <Tx, T>(work: (tx: Tx) => Promise<T>) => (tx: Tx) => Promise<T>;

/** Runs the transaction until it succeeds or must not be retried; raises its last error, and calls `onFailure` with it. */
export async function retried<T>(
  transaction: (trackCommit: TrackCommit) => Promise<T>,
  { isRepeatable = false }: TransactionOptions = {},
  onFailure: (error: unknown) => void = () => undefined,
): Promise<T> {
  for (let conflicts = 0, losses = 0; ;) {
    let isCommitting = false;
    const trackCommit: TrackCommit = (work) => async (tx) => {
      const result = await work(tx);
      isCommitting = true;
      return result;
    };
    try {
      return await transaction(trackCommit);
    } catch (error) {
      // A transaction that was lost before COMMIT was sent has been rolled back.
      const isLost = isConnectionLost(error) && !isUnreachable(error) && (!isCommitting || isRepeatable);
      if (isRetryable(error) && conflicts < conflictsMax) conflicts += 1;
      else if (isLost && losses < lossesMax) losses += 1;
      else {
        onFailure(error);
        throw error;
      }
      // Jitter keeps two losers of a conflict from colliding again.
      await delay(Math.random() * backoffMs * (conflicts + losses));
    }
  }
}

/**
 * Runs a statement that is a transaction of its own, and retries it after conflicts; raises its last error. When the
 * connection is lost, the statement may have been committed.
 */
export function retriedStatement<T>(statement: () => Promise<T>): Promise<T> {
  return retried(async (trackCommit) => {
    // The statement includes its own COMMIT.
    await trackCommit(async () => undefined)(undefined);
    return statement();
  });
}
