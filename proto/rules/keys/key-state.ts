// The state of a key as one word, the same in the API, the console and the command. It depends on data of both auth and the ledger, which do not know
// each other, so the rule belongs to the contracts. Pure.
import { AccountState, type Key, KeyState } from '#proto/auth/v1/auth.js';
import type { KeySpend } from '#proto/ledger/v1/ledger.js';
import type { KeyStateWord } from './key-state-words.js';

/** The data that determine the word. */
export interface KeyStanding {
  readonly key: Key;
  /** Absent: it was never used. */
  readonly spend: KeySpend | undefined;
  readonly accountState: AccountState;
  readonly nowMs: number;
}

/** The state of a key. */
export function keyStateWord({ key, spend, accountState, nowMs }: KeyStanding): KeyStateWord {
  const isPast = (ms: bigint): boolean => ms <= BigInt(nowMs);
  if (key.state === KeyState.KEY_STATE_REVOKED) return 'revoked';
  if (accountState === AccountState.ACCOUNT_STATE_SUSPENDED) return 'suspended';
  if (key.state === KeyState.KEY_STATE_DISABLED) return 'disabled';
  if (key.expiresAtMs !== undefined && isPast(key.expiresAtMs)) return 'expired';
  if (key.lifetimeLimitNanoUsd !== undefined && (spend?.spentNanoUsd ?? 0n) >= key.lifetimeLimitNanoUsd) return 'limit_reached';
  return key.previousSecretsExpireAtMs === undefined || isPast(key.previousSecretsExpireAtMs) ? 'active' : 'rotating';
}
