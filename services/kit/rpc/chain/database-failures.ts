// Decorator that reports an unavailable or overloaded database to callers as such, never as an error that they cannot retry.
import { fromDatabase } from '../../db/failures.js';
import type { Logger } from '../../log.js';
import type { Decorator } from './decorate.js';

// An outage fails every call; an occasional log line is enough.
const quietMs = 10_000;

/** Replaces a driver's error with service_unavailable or overloaded where it indicates an outage or overload, and logs the driver's error. */
export function databaseFailures(log: Logger): Decorator {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return (method) => {
    const end = (error: unknown): unknown => {
      const failure = error === undefined ? undefined : fromDatabase(error);
      if (failure !== error && performance.now() - loggedAtMs >= quietMs) {
        loggedAtMs = performance.now();
        log.warn({ err: error, rpc: method.fullName }, 'the database failed a call');
      }
      return failure;
    };
    return (context) => ({ context, end });
  };
}
