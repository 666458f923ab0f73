// Checks whether calls may be made with a key at an instant. Pure.
import { fault } from '#client/errors/fault.js';
import { AccountState, type Key, KeyState } from '#proto/auth/v1/auth.js';

/**
 * Throws key_revoked, key_disabled, key_expired or account_suspended. `secretExpiresAtMs` is the expiry of a secret that a rotation
 * replaced.
 */
export function assertUsable(
  key: Key,
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
}

function instant(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}
