// RevokeKey: revokes a key permanently.
import type { CallContext } from '#client/call-context.js';
import { type Key, KeyState, type RevokeKeyRequest, type RevokeKeyResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { found } from '../requests/found.js';
import { ownKey } from '../requests/own-key.js';

/** Revokes the key; a revoked one is unchanged. Raises invalid_request and not_found. */
export async function revokeKey(request: RevokeKeyRequest, context: CallContext, deps: RpcDeps): Promise<RevokeKeyResponse> {
  const own = ownKey(request, context, 'developer');
  const revokedAtMs = BigInt(deps.clock.nowMs());
  const change = (before: Key): Key => {
    own.check(before);
    return before.state === KeyState.KEY_STATE_REVOKED ? before : { ...before, state: KeyState.KEY_STATE_REVOKED, revokedAtMs };
  };
  const changed = await deps.keys.change(own.id, change, (tx, { accountId, id: targetId, name }) =>
    deps.audit.append(tx, context, { action: 'key.revoke', accountId, targetId, detail: { name } }),
  );
  const key = found(changed, 'key');
  deps.feed.wake();
  deps.log.info({ key_id: key.id, version: key.version.toString() }, 'key revoked');
  return { key };
}
