// ListManagementKeys: lists the management keys of an account.
import type { CallContext } from '#client/call-context.js';
import type { ListManagementKeysRequest, ListManagementKeysResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes } from '../../requests/fields.js';
import type { UserDeps } from '../deps.js';
import { rolesBy } from '../management-access.js';

/** Raises invalid_request. */
export async function listManagementKeys(
  request: ListManagementKeysRequest,
  _context: CallContext,
  { managementKeys, members }: UserDeps,
): Promise<ListManagementKeysResponse> {
  const accountId = accountIdBytes(request.accountId);
  const [found, ofAccount] = await Promise.all([managementKeys.list(accountId), members.ofAccount(accountId)]);
  const keys = found.map(({ key, user }) => {
    const own = ofAccount.find((member) => member.user?.id === user.id);
    return { ...key, userLostAccess: rolesBy(key, user, own) === undefined };
  });
  return { keys };
}
