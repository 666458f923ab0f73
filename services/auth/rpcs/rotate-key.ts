// RotateKey: gives a key a new secret; previous secrets remain valid for the overlap.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { type Key, KeyState, type RotateKeyRequest, type RotateKeyResponse } from '#proto/auth/v1/auth.js';
import { hashSecret, lastFour, mintSecret } from '#rules/keys/key-secrets.js';
import type { RpcDeps } from '../deps.js';
import { checkedOverlap } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { ownKey } from '../requests/own-key.js';

/** Raises invalid_request, not_found, and failed_precondition for a revoked key. */
export async function rotateKey(request: RotateKeyRequest, context: CallContext, deps: RpcDeps): Promise<RotateKeyResponse> {
  const own = ownKey(request, context, 'developer');
  const overlapMs = checkedOverlap(request.overlapMs);
  const secret = mintSecret();
  const rotation = { secretHash: hashSecret(secret), lastFour: lastFour(secret), nowMs: BigInt(deps.clock.nowMs()), overlapMs };
  const check = (before: Key): void => {
    own.check(before);
    if (before.state === KeyState.KEY_STATE_REVOKED) throw fault('key_unrotatable', {});
  };
  const rotated = await deps.keys.rotate(own.id, rotation, check, (tx, { accountId, id: targetId, name }) =>
    deps.audit.append(tx, context, {
      action: 'key.rotate',
      accountId,
      targetId,
      detail: { name, overlap_seconds: Number(overlapMs) / 1000 },
    }),
  );
  const key = found(rotated, 'key');
  deps.feed.wake();
  deps.log.info({ key_id: key.id, version: key.version.toString(), overlap_ms: overlapMs.toString() }, 'key rotated');
  return { key, secret };
}
