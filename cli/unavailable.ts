// Optional answers of services, for output that does not depend on them.
import { hasReason } from '#client/errors/app-error.js';

/** Returns the answer of a service; undefined while it is unavailable. Raises every other error. */
export async function unlessUnavailable<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (hasReason(error, 'service_unavailable', 'deadline_exceeded', 'overloaded')) return undefined;
    throw error;
  }
}
