// When a transaction that failed for no fault of its own is run again.
import { setTimeout as delay } from 'node:timers/promises';
import { isConnectionLost, isRetryable, isUnreachable } from './errors.js';

/** Options of a transaction. */
export interface TransactionOptions {
  /**
   * Whether the work finds by its ids what it has done already, so that it may run again when the connection was lost during COMMIT
   * and nobody knows whether it took effect. Without it the caller is told, as by any lost connection.
   */
  readonly isRepeatable?: boolean;
  /**
   * Whether a power cut may take the commit back, because what is lost is then done again. SQLite spares the wait for the disk, which holds
   * everybody up; what others committed before stays whole, and is on the disk when the next transaction without this is. MySQL waits.
   */
  readonly mayBeLost?: boolean;
}

/** Deadlocks, lock waits, and conflicts with a writer on another node of a Galera cluster, whose COMMIT fails like any statement. */
const conflictsMax = 9;
/** Lost connections. */
const lossesMax = 3;
const backoffMs = 5;

/** Has the end of a transaction's work noticed: what comes after it is COMMIT. */
type Noticed = <Tx, T>(work: (tx: Tx) => Promise<T>) => (tx: Tx) => Promise<T>;

/** Runs the transaction until it succeeds or may not be run again; raises what it failed with last. */
export async function retried<T>(
  transaction: (noticed: Noticed) => Promise<T>,
  { isRepeatable = false }: TransactionOptions = {},
): Promise<T> {
  for (let conflicts = 0, losses = 0; ;) {
    let isCommitting = false;
    const noticed: Noticed = (work) => async (tx) => {
      const result = await work(tx);
      isCommitting = true;
      return result;
    };
    try {
      return await transaction(noticed);
    } catch (error) {
      // What was lost before COMMIT was sent has been rolled back.
      const isLost = isConnectionLost(error) && !isUnreachable(error) && (!isCommitting || isRepeatable);
      if (isRetryable(error) && conflicts < conflictsMax) conflicts += 1;
      else if (isLost && losses < lossesMax) losses += 1;
      else throw error;
      // Jitter keeps two losers of a conflict from meeting again.
      await delay(Math.random() * backoffMs * (conflicts + losses));
    }
  }
}
