// GetHealth: the process of auth, and when the installation was backed up.
import type { CallContext } from '#client/call-context.js';
import { processInfo } from '#kit/process/process-info.js';
import type { GetHealthRequest, GetHealthResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { happenedAtMs } from '../store/installation.js';

export async function getHealth(_request: GetHealthRequest, _context: CallContext, { db, accounts }: RpcDeps): Promise<GetHealthResponse> {
  return {
    process: await processInfo(db),
    lastBackupAtMs: BigInt(await happenedAtMs(db.knex, 'backed_up')),
    oldestAccountAtMs: await accounts.oldestCreatedAtMs(),
  };
}
