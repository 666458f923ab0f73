// UpdateKey: renames, restricts, limits, disables or enables a key.
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '#kit/errors/app-error.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import { type Key, KeyState, type UpdateKeyRequest, type UpdateKeyResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { checkedExpiry, checkedLifetimeLimit, checkedModels, checkedName, invalidField, keyIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';

/** Changes what is present in the request and differs. Raises invalid_request, not_found, and failed_precondition for a revoked key. */
export async function updateKey(request: UpdateKeyRequest, _context: CallContext, deps: RpcDeps): Promise<UpdateKeyResponse> {
  const id = keyIdBytes(request.keyId);
  const wanted = wantedFields(request, deps.clock.nowMs());

  const changed = await deps.keys.change(id, (before) => {
    if (before.state === KeyState.KEY_STATE_REVOKED) {
      throw new AppError('failed_precondition', 'The key is revoked and cannot be changed; create a new key.');
    }
    const after: Key = { ...before, ...wanted };
    return isDeepStrictEqual(after, before) ? before : after;
  });
  const key = found(changed, 'key');
  deps.feed.wake();
  deps.log.info({ key_id: key.id, version: key.version.toString() }, 'key updated');
  return { key };
}

/** The fields of the key that the request sets, and only those. */
function wantedFields(request: UpdateKeyRequest, nowMs: number): Partial<Key> {
  const wanted: Partial<Key> = {};
  if (request.name !== undefined) wanted.name = checkedName(request.name);
  if (request.models !== undefined) wanted.models = checkedModels(request.models);

  if (request.lifetimeLimitNanoUsd !== undefined && request.clearLifetimeLimit) {
    throw invalidField('clear_lifetime_limit', 'Send lifetime_limit_nano_usd or clear_lifetime_limit, not both.');
  }
  if (request.clearLifetimeLimit) wanted.lifetimeLimitNanoUsd = undefined;
  if (request.lifetimeLimitNanoUsd !== undefined) wanted.lifetimeLimitNanoUsd = checkedLifetimeLimit(request.lifetimeLimitNanoUsd);

  if (request.expiresAtMs !== undefined && request.clearExpiresAt) {
    throw invalidField('clear_expires_at', 'Send expires_at_ms or clear_expires_at, not both.');
  }
  if (request.clearExpiresAt) wanted.expiresAtMs = undefined;
  if (request.expiresAtMs !== undefined) wanted.expiresAtMs = checkedExpiry(request.expiresAtMs, nowMs);

  if (request.state === KeyState.KEY_STATE_ACTIVE || request.state === KeyState.KEY_STATE_DISABLED) wanted.state = request.state;
  else if (request.state !== KeyState.KEY_STATE_UNSPECIFIED) {
    throw invalidField('state', 'state must be ACTIVE or DISABLED; use RevokeKey to revoke.');
  }
  return wanted;
}
