// A new account.
import { newId } from '#kit/id.js';
import { defaultTimeZone } from './requests/time-zone.js';
import { type Account, AccountState } from '#proto/auth/v1/auth.js';

/** Returns an active account with this name, not stored yet. */
export function newAccountOf(name: string, nowMs: number): Account {
  return {
    id: newId('acct', nowMs),
    name,
    state: AccountState.ACCOUNT_STATE_ACTIVE,
    createdAtMs: BigInt(nowMs),
    version: 1n,
    stateReason: '',
    rateLimits: undefined,
    budgets: [],
    timeZone: defaultTimeZone,
    neverLogPrompts: false,
    requireSecondFactor: false,
  };
}
