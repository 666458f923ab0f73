// Optional answers of services, for responses that do not depend on them.
import { hasReason } from '#client/errors/app-error.js';

/** Returns the answer of a service; undefined when it did not answer or failed internally, which it has logged. Raises every other error. */
export async function unlessUnavailable<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (hasReason(error, 'service_unavailable', 'deadline_exceeded', 'overloaded', 'internal')) return undefined;
    throw error;
  }
}
