// UpdateAccountSecurity: requires a second factor of the members of an account, or stops requiring it.
import type { CallContext } from '#client/call-context.js';
import type { Account, UpdateAccountSecurityRequest, UpdateAccountSecurityResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { accountIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';

/** Raises invalid_request and not_found. */
export async function updateAccountSecurity(
  { accountId, requireSecondFactor }: UpdateAccountSecurityRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<UpdateAccountSecurityResponse> {
  const id = accountIdBytes(accountId);
  const change = (before: Account): Account =>
    before.requireSecondFactor === requireSecondFactor ? before : { ...before, requireSecondFactor };
  const changed = await deps.accounts.change(id, change, (tx, before, after) =>
    deps.audit.append(tx, context, {
      action: 'account.update',
      accountId: after.id,
      targetId: after.id,
      detail: {
        name: after.name,
        before: { require_second_factor: before.requireSecondFactor },
        after: { require_second_factor: after.requireSecondFactor },
      },
    }),
  );
  const account = found(changed, 'account');
  deps.log.info({ account_id: account.id, version: account.version.toString() }, 'account security updated');
  return { account };
}
