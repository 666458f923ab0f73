// The account of somebody who comes by themself.
import { newId } from '#kit/id.js';
import { type Account, AccountState } from '#proto/auth/v1/auth.js';

/** An active account of this name, not stored yet. */
export function newAccountOf(name: string, nowMs: number): Account {
  return {
    id: newId('acct', nowMs),
    name,
    state: AccountState.ACCOUNT_STATE_ACTIVE,
    createdAtMs: BigInt(nowMs),
    version: 1n,
    stateReason: '',
  };
}
