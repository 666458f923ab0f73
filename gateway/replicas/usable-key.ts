// Checks whether calls may be made with a key at an instant. Pure.
import { AccountState, type Key, KeyState } from '#proto/auth/v1/auth.js';
import { AppError } from '#client/errors/app-error.js';

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
  if (key.state === KeyState.KEY_STATE_REVOKED)
    throw new AppError('key_revoked', `The platform key ending in ${key.lastFour} was revoked. Use another key.`);
  if (secretExpiresAtMs !== undefined && BigInt(nowMs) >= secretExpiresAtMs) {
    const replacedAt = new Date(Number(secretExpiresAtMs)).toISOString();
    throw new AppError(
      'key_revoked',
      `This secret of the platform key was replaced and has been refused since ${replacedAt}. Use the new one, which ends in ${key.lastFour}.`,
    );
  }
  if (accountState === AccountState.ACCOUNT_STATE_SUSPENDED) {
    throw new AppError(
      'account_suspended',
      `The account of this platform key is suspended${accountStateReason === '' ? '.' : `: ${accountStateReason}`}`,
    );
  }
  if (key.state !== KeyState.KEY_STATE_ACTIVE)
    throw new AppError('key_disabled', `The platform key ending in ${key.lastFour} is disabled. Enable it or use another key.`);
  if (key.expiresAtMs !== undefined && BigInt(nowMs) >= key.expiresAtMs) {
    throw new AppError(
      'key_expired',
      `The platform key ending in ${key.lastFour} expired at ${new Date(Number(key.expiresAtMs)).toISOString()}. Use another key.`,
    );
  }
}
