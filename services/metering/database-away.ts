// Whether an error says that the database is away, which no single row can be at fault for.
import { isConnectionLost } from '#kit/db/errors.js';

/** True for lost connections, and for knex giving up on getting one from its pool. */
export function isDatabaseAway(error: unknown): boolean {
  return isConnectionLost(error) || (error instanceof Error && error.name === 'KnexTimeoutError');
}
