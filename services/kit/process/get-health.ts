// GetHealth of the services that report only on their process.
import type { Database } from '../db/open.js';
import { type ProcessInfo, processInfo } from './process-info.js';

/** Returns the process that runs the service, and queries its database. */
export async function getHealth(
  _request: unknown,
  _context: unknown,
  { db }: { readonly db: Database },
): Promise<{ process: ProcessInfo }> {
  return { process: await processInfo(db) };
}
