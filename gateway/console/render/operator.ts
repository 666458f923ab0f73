// Accounts, people and the audit log as operators see them. Pure.
import { type Account, AccountState } from '#proto/auth/v1/auth.js';
import type { AuditEvent, User } from '#proto/auth/v1/users.js';
import type { Balance } from '#proto/ledger/v1/ledger.js';
import { renderBalance } from './money.js';
import { renderUser } from './people.js';
import { instant, orNull } from './values.js';

/** An account. */
export function renderAccount(account: Account) {
  const isSuspended = account.state === AccountState.ACCOUNT_STATE_SUSPENDED;
  return {
    id: account.id,
    name: account.name,
    state: isSuspended ? 'suspended' : 'active',
    state_reason: orNull(account.stateReason),
    created_at: instant(account.createdAtMs),
  };
}

/** An account with its money, null when that is unknown, and how many keys it has that are not revoked. */
export function renderAccountInList(account: Account, balance: Balance | undefined, keys: number) {
  return { ...renderAccount(account), balance: balance === undefined ? null : renderBalance(balance), keys };
}

/** A person, with what only operators see. */
export function renderUserForOperator(user: User) {
  return { ...renderUser(user), is_disabled: user.isDisabled, email_verified: user.emailVerified, created_at: instant(user.createdAtMs) };
}

/** Renders an entry of the audit log. */
export function renderAuditEntry(entry: AuditEvent) {
  return {
    id: entry.id,
    at: instant(entry.atMs),
    actor_user_id: orNull(entry.actorUserId),
    actor: orNull(entry.actorName),
    address: orNull(entry.clientAddress),
    caller: entry.caller,
    account_id: orNull(entry.accountId),
    action: entry.action,
    target_id: entry.targetId,
    detail: JSON.parse(entry.detailJson) as unknown,
    number: Number(entry.number),
    hash: Buffer.from(entry.hash).toString('hex'),
  };
}
