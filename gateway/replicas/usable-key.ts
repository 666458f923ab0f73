// Checks whether a client may make calls with a key at an instant. Pure.
import { fault } from '#client/errors/fault.js';
import { addressSet } from '#kit/net/address-set.js';
import { AccountState, type Key, KeyState } from '#proto/auth/v1/auth.js';

// Built at the first call with a key: parsing fifty blocks takes longer than a call may.
const allowedOf = new WeakMap<Key, (address: string) => boolean>();

/** The network address of a client, which is read only if the key depends on it. */
export interface ClientAddress {
  readonly ip: string;
}

/**
 * Throws key_revoked, key_disabled, key_expired, account_suspended or address_not_permitted. `secretExpiresAtMs` is the expiry of a secret
 * that a rotation replaced.
 */
export function assertUsable(
  key: Key,
  client: ClientAddress,
  {
    accountState,
    accountStateReason,
    secretExpiresAtMs,
  }: { accountState: AccountState; accountStateReason: string; secretExpiresAtMs?: bigint | undefined },
  nowMs: number,
): void {
  if (key.state === KeyState.KEY_STATE_REVOKED) throw fault('named_key_revoked', { last_four: key.lastFour });
  if (secretExpiresAtMs !== undefined && BigInt(nowMs) >= secretExpiresAtMs) {
    throw fault('key_rotated', { replaced_at: instant(secretExpiresAtMs), last_four: key.lastFour });
  }
  if (accountState === AccountState.ACCOUNT_STATE_SUSPENDED) {
    if (accountStateReason === '') throw fault('account_suspended', {});
    throw fault('suspended_because', { why: accountStateReason });
  }
  if (key.state !== KeyState.KEY_STATE_ACTIVE) throw fault('named_key_disabled', { last_four: key.lastFour });
  if (key.expiresAtMs !== undefined && BigInt(nowMs) >= key.expiresAtMs) {
    throw fault('named_key_expired', { last_four: key.lastFour, expired_at: instant(key.expiresAtMs) });
  }
  if (!isAllowed(key, client)) throw fault('address_not_in_key', { last_four: key.lastFour, address: client.ip.slice(0, 60) });
}

function isAllowed(key: Key, client: ClientAddress): boolean {
  if (key.allowedAddresses.length === 0) return true;
  let has = allowedOf.get(key);
  if (has === undefined) {
    has = addressSet(key.allowedAddresses);
    allowedOf.set(key, has);
  }
  return has(client.ip);
}

function instant(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}
