// UpdateAccountSecurity: requires a second factor of the members of an account, or stops requiring it.
import type { CallContext } from '#client/call-context.js';
import type { Account, UpdateAccountSecurityRequest, UpdateAccountSecurityResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { changeAccount } from '../requests/change-account.js';
import { accountIdBytes } from '../requests/fields.js';

/** Raises invalid_request and not_found. */
export async function updateAccountSecurity(
  { accountId, requireSecondFactor }: UpdateAccountSecurityRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<UpdateAccountSecurityResponse> {
  const id = accountIdBytes(accountId);
  const change = (before: Account): Account =>
    before.requireSecondFactor === requireSecondFactor ? before : { ...before, requireSecondFactor };
  const detailOf = (account: Account): object => ({ require_second_factor: account.requireSecondFactor });
  return changeAccount(id, change, detailOf, 'account security', context, deps);
}
