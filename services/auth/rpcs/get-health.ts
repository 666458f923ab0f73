// GetHealth: what runs this service.
import type { Database } from '#kit/db/open.js';
import { processInfo } from '#kit/process-info.js';
import type { GetHealthResponse } from '#proto/auth/v1/auth.js';

/** Asks the database, too. */
export async function getHealth(db: Database): Promise<GetHealthResponse> {
  return { process: await processInfo(db) };
}
