import { describe, expect, it } from '@jest/globals';
import { AccountState, Key, KeyState } from '#proto/auth/v1/auth.js';
import { KeySpend } from '#proto/ledger/v1/ledger.js';
import { keyStateWords } from './key-state-words.js';
import { type KeyStanding, keyStateWord } from './key-state.js';

const nowMs = 1_800_000_000_000;
const key = (changes: Partial<Key> = {}): Key => Key.fromPartial({ state: KeyState.KEY_STATE_ACTIVE, ...changes });
const standing = (changes: Partial<KeyStanding>): KeyStanding => ({
  key: key(),
  spend: undefined,
  accountState: AccountState.ACCOUNT_STATE_ACTIVE,
  nowMs,
  ...changes,
});
const spent = KeySpend.fromPartial({ spentNanoUsd: 5n });

describe('the state of a key', () => {
  const rotating = { previousSecretsExpireAtMs: BigInt(nowMs) + 1n };
  const atLimit = { ...rotating, lifetimeLimitNanoUsd: 5n };
  const expired = { ...atLimit, expiresAtMs: BigInt(nowMs) };
  const disabled = { ...expired, state: KeyState.KEY_STATE_DISABLED };
  const suspended = { accountState: AccountState.ACCOUNT_STATE_SUSPENDED, spend: spent };

  it.each<[string, Partial<KeyStanding>]>([
    ['active', {}],
    [
      'active',
      { key: key({ lifetimeLimitNanoUsd: 6n, expiresAtMs: BigInt(nowMs) + 1n, previousSecretsExpireAtMs: BigInt(nowMs) }), spend: spent },
    ],
    ['rotating', { key: key(rotating), spend: spent }],
    // Each is hidden by the next.
    ['limit_reached', { key: key(atLimit), spend: spent }],
    ['expired', { key: key(expired), spend: spent }],
    ['disabled', { key: key(disabled), spend: spent }],
    ['suspended', { ...suspended, key: key(disabled) }],
    ['revoked', { ...suspended, key: key({ ...disabled, state: KeyState.KEY_STATE_REVOKED }) }],
  ])('is %s', (word, changes) => {
    expect(keyStateWord(standing(changes))).toBe(word);
    expect(keyStateWords).toContain(word);
  });
});
