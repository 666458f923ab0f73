// Translates a failure of a service's database into the error that the caller gets.
import { AppError } from '#client/errors/app-error.js';
import { isConnectionLost, isPoolExhausted, isRetryable, isUnwritable } from './errors.js';

const retryAfterMs = 1000;

/**
 * Returns the error to raise for a driver's error: a lost connection or a full disk becomes service_unavailable (the outcome is unknown:
 * retry with the same id), overload becomes overloaded (nothing was done). Any other error is returned unchanged.
 */
export function fromDatabase(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (isConnectionLost(error))
    return new AppError('service_unavailable', 'A service cannot reach its database. Try again.', { cause: error, retryAfterMs });
  if (isUnwritable(error))
    return new AppError('service_unavailable', "A service's database cannot write: its disk is full, or it is read-only. Try again.", {
      cause: error,
      retryAfterMs,
    });
  if (isPoolExhausted(error) || isRetryable(error))
    return new AppError('overloaded', "A service's database is busy. Try again.", { cause: error, retryAfterMs });
  return error;
}
