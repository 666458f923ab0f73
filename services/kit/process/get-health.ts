// GetHealth of the services that report nothing but their process.
import type { Database } from '../db/open.js';
import { type ProcessInfo, processInfo } from './process-info.js';

/** Reports what runs the service. Queries its database too. */
export async function getHealth(
  _request: unknown,
  _context: unknown,
  { db }: { readonly db: Database },
): Promise<{ process: ProcessInfo }> {
  return { process: await processInfo(db) };
}
