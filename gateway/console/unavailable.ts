// Answers that can do without a service which is away.
import { hasReason } from '#client/errors/app-error.js';

/** What was asked for; undefined when the service did not answer, could not, or failed at it, which it has logged. Any other refusal is raised. */
export async function unlessAway<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (hasReason(error, 'service_unavailable', 'deadline_exceeded', 'overloaded', 'internal')) return undefined;
    throw error;
  }
}
