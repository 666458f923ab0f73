// AuthenticateManagementKey: returns the management key with this hash of its secret, what its user may do with it, and an actor token.
import { timingSafeEqual } from 'node:crypto';
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { addressSet } from '#kit/net/address-set.js';
import type { AuthenticateManagementKeyRequest, AuthenticateManagementKeyResponse, ManagementKey } from '#proto/auth/v1/users.js';
import { checkedSecretHash } from '../../requests/fields.js';
import type { UserDeps } from '../deps.js';
import { checkedClient } from '../fields.js';
import { membershipBy } from '../management-access.js';

// To the minute, as for sessions.
const noteUseEveryMs = 60_000n;

/** Raises invalid_request, key_unknown, key_revoked, key_expired, address_not_permitted and key_disabled. */
export async function authenticateManagementKey(
  request: AuthenticateManagementKeyRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<AuthenticateManagementKeyResponse> {
  const { actorTokens, clock, managementKeys } = deps;
  const secretHash = checkedSecretHash(request.secretHash);
  const match = await managementKeys.findBySecretHash(secretHash);
  if (match === undefined || !timingSafeEqual(match.secretHash, secretHash)) throw fault('management_key_unknown', {});
  const { key, user } = match;
  const { address: clientAddress } = checkedClient({ address: request.clientAddress, userAgent: '' });
  assertUsable(key, clientAddress, BigInt(clock.nowMs()));
  const membership = await membershipBy(key, user, deps);
  if (membership === undefined) throw fault('management_key_orphaned', { last_four: key.lastFour });
  const actorToken = await actorTokens.sign({
    // Operators have the role of an owner in the account of the key, and none elsewhere.
    user: { ...user, isOperator: false },
    sessionId: key.id,
    managementKey: key,
    memberships: [membership],
    accountId: key.accountId,
    clientAddress,
    caller: context.caller,
  });
  return { key: await noteUse(key, deps), user, membership, actorToken };
}

function assertUsable(key: ManagementKey, address: string, nowMs: bigint): void {
  const { lastFour: last_four, revokedAtMs, expiresAtMs, allowedAddresses } = key;
  if (revokedAtMs !== undefined) throw fault('management_key_revoked', { last_four });
  if (expiresAtMs !== undefined && nowMs >= expiresAtMs)
    throw fault('management_key_expired', { last_four, expired_at: new Date(Number(expiresAtMs)).toISOString() });
  if (allowedAddresses.length > 0 && !addressSet(allowedAddresses)(address)) throw fault('management_key_address', { last_four, address });
}

async function noteUse(key: ManagementKey, { managementKeys, clock }: UserDeps): Promise<ManagementKey> {
  const nowMs = BigInt(clock.nowMs());
  if (nowMs - (key.lastUsedAtMs ?? 0n) < noteUseEveryMs) return key;
  await managementKeys.noteUse(key.id, nowMs);
  return { ...key, lastUsedAtMs: nowMs };
}
