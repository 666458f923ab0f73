// UpdateAccountPrivacy: forbids logging prompts and answers in an account, or permits it again.
import type { CallContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import { isMember } from '#kit/rpc/access/projects.js';
import type { Account, UpdateAccountPrivacyRequest, UpdateAccountPrivacyResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { changeAccount } from '../requests/change-account.js';
import { accountIdBytes } from '../requests/fields.js';

/** Raises invalid_request, not_found, and role_not_permitted when logging is to be permitted by a user who is not an owner of the account. */
export async function updateAccountPrivacy(
  { accountId, neverLogPrompts }: UpdateAccountPrivacyRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<UpdateAccountPrivacyResponse> {
  const id = accountIdBytes(accountId);
  if (!neverLogPrompts && !isMember(context, 'owner', accountId)) throw fault('members_only', { role: 'owner' });
  const change = (before: Account): Account => (before.neverLogPrompts === neverLogPrompts ? before : { ...before, neverLogPrompts });
  const detailOf = (account: Account): object => ({ never_log_prompts: account.neverLogPrompts });
  return changeAccount(id, change, detailOf, 'account privacy', context, deps);
}
