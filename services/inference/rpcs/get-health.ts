// GetHealth: what runs this service.
import { processInfo } from '#kit/process/process-info.js';
import type { CallContext } from '#client/call-context.js';
import type { GetHealthRequest, GetHealthResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';

/** Queries the database too. */
export async function getHealth(
  _request: GetHealthRequest,
  _context: CallContext,
  { db }: Pick<RpcDeps, 'db'>,
): Promise<GetHealthResponse> {
  return { process: await processInfo(db) };
}
