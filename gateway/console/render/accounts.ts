// Accounts as operators see them. Pure.
import { type Account as AccountMessage, AccountState } from '#proto/auth/v1/auth.js';
import type { Balance } from '#proto/ledger/v1/ledger.js';
import type { Account, AccountInList } from '../schemas/operator/accounts.js';
import { renderBalance } from './billing.js';
import { renderAccountRateLimits } from './rate-limits.js';
import { instant, orNull } from './values.js';

/** Renders an account. */
export function renderAccount(account: AccountMessage): Account {
  const isSuspended = account.state === AccountState.ACCOUNT_STATE_SUSPENDED;
  return {
    id: account.id,
    name: account.name,
    state: isSuspended ? 'suspended' : 'active',
    state_reason: orNull(account.stateReason),
    rate_limits: renderAccountRateLimits(account.rateLimits),
    created_at: instant(account.createdAtMs),
  };
}

/** Renders an account with its balance, null when that is unknown, and the number of its keys that are not revoked. */
export function renderAccountInList(account: AccountMessage, balance: Balance | undefined, keys: number): AccountInList {
  return { ...renderAccount(account), balance: balance === undefined ? null : renderBalance(balance), keys };
}
