// RotateKey: gives a key a new secret, and those of before some time.
import { AppError } from '#kit/errors/app-error.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import { KeyState, type RotateKeyRequest, type RotateKeyResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { hashSecret, lastFour, mintSecret } from '../key-secret.js';
import { checkedOverlap, keyIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';

/** Raises invalid_request, not_found, and failed_precondition for a revoked key. */
export async function rotateKey(request: RotateKeyRequest, _context: CallContext, deps: RpcDeps): Promise<RotateKeyResponse> {
  const id = keyIdBytes(request.keyId);
  const overlapMs = checkedOverlap(request.overlapMs);
  const secret = mintSecret();
  const rotation = { secretHash: hashSecret(secret), lastFour: lastFour(secret), nowMs: BigInt(deps.clock.nowMs()), overlapMs };
  const rotated = await deps.keys.rotate(id, rotation, ({ state }) => {
    if (state === KeyState.KEY_STATE_REVOKED)
      throw new AppError('failed_precondition', 'The key is revoked and cannot be rotated; create a new key.');
  });
  const key = found(rotated, 'key');
  deps.feed.wake();
  deps.log.info({ key_id: key.id, version: key.version.toString(), overlap_ms: overlapMs.toString() }, 'key rotated');
  return { key, secret };
}
