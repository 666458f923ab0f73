// What a database's failure means to a caller of the ledger.
import { isConnectionLost, isRetryable } from '#kit/db/errors.js';
import { AppError } from '#kit/errors/app-error.js';

/** A connection lost becomes service_unavailable (the outcome is unknown: ask again by the same id), too much to do becomes overloaded (nothing was done). */
export function fromDatabase(error: unknown): unknown {
  if (isConnectionLost(error)) return new AppError('service_unavailable', 'The ledger cannot reach its database. Try again.', { cause: error });
  // Knex gives up waiting for a free connection of its pool with this name (knex 3.3, lib/util/timeout.js).
  const poolExhausted = error instanceof Error && error.name === 'KnexTimeoutError';
  if (poolExhausted || isRetryable(error)) return new AppError('overloaded', 'The ledger is overloaded. Try again.', { cause: error, retryAfterMs: 1000 });
  return error;
}

/** The answer of a query. Raises what `fromDatabase` makes of its failure. */
export async function answerOf<T>(query: PromiseLike<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    throw fromDatabase(error);
  }
}
