// Decorator: a database that is away or too busy is told to callers as such, never as a fault that they cannot repeat.
import { fromDatabase } from '../db/failures.js';
import type { Logger } from '../log.js';
import type { Decorator } from './decorate.js';

// An outage fails every call; one line now and then says enough.
const quietMs = 10_000;

/** Raises service_unavailable or overloaded in place of a driver's error of that kind, and logs the driver's words. */
export function databaseFailures(log: Logger): Decorator {
  let toldAtMs = Number.NEGATIVE_INFINITY;
  return (method) => (context) => ({
    context,
    end(error) {
      const failure = fromDatabase(error);
      if (failure !== error && performance.now() - toldAtMs >= quietMs) {
        toldAtMs = performance.now();
        log.warn({ err: error, rpc: method.fullName }, 'the database failed a call');
      }
      return failure;
    },
  });
}
