// What a failure of a service's database means to whoever called the service.
import { AppError } from '#client/errors/app-error.js';
import { isConnectionLost, isPoolExhausted, isRetryable, isUnwritable } from './errors.js';

const retryAfterMs = 1000;

/**
 * The error to raise for one of a driver's: a lost connection or a disk without room becomes service_unavailable (the outcome is unknown:
 * ask again by the same id), too much to do becomes overloaded (nothing was done). Any other error is returned as it is.
 */
export function fromDatabase(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (isConnectionLost(error))
    return new AppError('service_unavailable', 'A service cannot reach its database. Try again.', { cause: error, retryAfterMs });
  if (isUnwritable(error))
    return new AppError('service_unavailable', 'A service’s database cannot write; its operator must make room. Try again.', {
      cause: error,
      retryAfterMs,
    });
  if (isPoolExhausted(error) || isRetryable(error))
    return new AppError('overloaded', 'A service waits for its database. Try again.', { cause: error, retryAfterMs });
  return error;
}
