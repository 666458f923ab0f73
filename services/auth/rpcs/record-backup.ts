// RecordBackup: notes that the installation was backed up.
import type { CallContext } from '#client/call-context.js';
import type { RecordBackupRequest, RecordBackupResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { noteHappened } from '../store/installation.js';

export async function recordBackup(
  _request: RecordBackupRequest,
  context: CallContext,
  { db, audit, clock }: RpcDeps,
): Promise<RecordBackupResponse> {
  await db.transaction(async (tx) => {
    await noteHappened(tx, 'backed_up', clock.nowMs());
    await audit.append(tx, context, { action: 'installation.backup', targetId: '' });
  });
  return {};
}
