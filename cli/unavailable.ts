// Optional responses of services, for output that does not depend on them.
import { hasReason } from '#client/errors/app-error.js';

/** Returns the response of a service; undefined while it is unavailable. Raises every other error. */
export async function unlessUnavailable<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (hasReason(error, 'service_unavailable', 'deadline_exceeded', 'overloaded')) return undefined;
    throw error;
  }
}
