// RevokeManagementKey: revokes a management key permanently.
import type { CallContext } from '#client/call-context.js';
import type { RevokeManagementKeyRequest, RevokeManagementKeyResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes, checkedId } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { UserDeps } from '../deps.js';

/** Raises invalid_request and not_found. */
export async function revokeManagementKey(
  request: RevokeManagementKeyRequest,
  context: CallContext,
  { audit, clock, db, log, managementKeys }: UserDeps,
): Promise<RevokeManagementKeyResponse> {
  const accountId = accountIdBytes(request.accountId);
  const id = checkedId('key_id', 'mkey', request.keyId);
  return db.transaction(async (tx) => {
    const key = found(await managementKeys.findOwn(tx, accountId, id), 'management_key');
    const revokedAtMs = BigInt(clock.nowMs());
    if (!(await managementKeys.revoke(tx, id, revokedAtMs))) return { key };
    await audit.append(tx, context, {
      action: 'management_key.revoke',
      accountId: key.accountId,
      targetId: key.id,
      detail: { name: key.name },
    });
    log.info({ management_key_id: key.id, account_id: key.accountId }, 'management key revoked');
    return { key: { ...key, revokedAtMs } };
  });
}
