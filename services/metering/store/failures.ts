// What a failure of the database means to a caller.
import { isConnectionLost, isRetryable } from '#kit/db/errors.js';
import { AppError } from '#kit/errors/app-error.js';

/** Whether the database is away or too busy, which no single row can be at fault for. */
export function isDatabaseAway(error: unknown): boolean {
  return isConnectionLost(error) || isPoolExhausted(error);
}

/** The answer of an RPC. A database that is away raises service_unavailable, one with too much to do overloaded: gateways try again on both. */
export async function answerOf<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isConnectionLost(error)) throw new AppError('service_unavailable', 'Metering cannot reach its database. Try again.', { cause: error, retryAfterMs: 1000 });
    if (isPoolExhausted(error) || isRetryable(error)) throw new AppError('overloaded', 'Metering is overloaded. Try again.', { cause: error, retryAfterMs: 1000 });
    throw error;
  }
}

/** Knex gives up waiting for a free connection of its pool with an error of this name (knex 3.3, lib/util/timeout.js). */
function isPoolExhausted(error: unknown): boolean {
  return error instanceof Error && error.name === 'KnexTimeoutError';
}
