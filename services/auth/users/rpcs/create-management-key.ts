// CreateManagementKey: creates a key with which a program uses the console's API on behalf of a user.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { type CreateManagementKeyRequest, type CreateManagementKeyResponse, type ManagementKey, User } from '#proto/auth/v1/users.js';
import { accountScopes, scopes } from '#rules/access/scopes.js';
import { hashSecret, lastFour, mintSecret } from '#rules/keys/key-secrets.js';
import { accountIdBytes, checkedAddresses, checkedExpiry, checkedId, checkedName, projectIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { assertOpenProject } from '../../requests/own-project.js';
import type { UserDeps } from '../deps.js';
import { membershipBy } from '../management-access.js';

/** Raises invalid_request, not_found, and failed_precondition when the account has too many keys or the project is deleted. */
export async function createManagementKey(
  request: CreateManagementKeyRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<CreateManagementKeyResponse> {
  const { accounts, audit, clock, db, log, managementKeys, projects, users } = deps;
  const account = found(await accounts.find(accountIdBytes(request.accountId)), 'account');
  const { user } = found(await users.find(checkedId('user_id', 'user', context.actor?.userId ?? request.userId)), 'user');
  if (request.projectId !== '') assertOpenProject(await projects.find(projectIdBytes(request.projectId)), account.id);
  const nowMs = clock.nowMs();
  const secret = mintSecret(undefined, 'mk-tg-');
  const key: ManagementKey = {
    id: newId('mkey', nowMs),
    accountId: account.id,
    name: checkedName(request.name),
    lastFour: lastFour(secret),
    scopes: checkedScopes(request),
    projectId: request.projectId,
    user: User.fromPartial({ id: user.id, email: user.email, name: user.name }),
    allowedAddresses: checkedAddresses(request.allowedAddresses),
    expiresAtMs: request.expiresAtMs === undefined ? undefined : checkedExpiry(request.expiresAtMs, nowMs),
    createdAtMs: BigInt(nowMs),
    revokedAtMs: undefined,
    lastUsedAtMs: undefined,
    userLostAccess: false,
  };
  found(await membershipBy(key, user, deps), 'member');
  await db.transaction(async (tx) => {
    await managementKeys.add(tx, key, hashSecret(secret));
    const detail = {
      name: key.name,
      email: user.email,
      scopes: key.scopes,
      ...(key.projectId === '' ? {} : { project: key.projectId }),
      ...(key.allowedAddresses.length === 0 ? {} : { allowed_addresses: key.allowedAddresses }),
      ...(key.expiresAtMs === undefined ? {} : { expires_at: new Date(Number(key.expiresAtMs)).toISOString() }),
    };
    await audit.append(tx, context, { action: 'management_key.create', accountId: key.accountId, targetId: key.id, detail });
  });
  log.info({ management_key_id: key.id, account_id: key.accountId }, 'management key created');
  return { key, secret };
}

/** Returns the scopes in their order. */
function checkedScopes({ scopes: wanted, projectId }: CreateManagementKeyRequest): string[] {
  const known: readonly string[] = scopes;
  if (wanted.length === 0 || new Set(wanted).size < wanted.length || !wanted.every((scope) => known.includes(scope)))
    throw fieldFault('scopes', 'scopes', { values: scopes.join(', ') });
  const refused = accountScopes.filter((scope) => wanted.includes(scope));
  if (projectId !== '' && refused.length > 0) throw fieldFault('scopes', 'project_scopes', { values: refused.join(', ') });
  return known.filter((scope) => wanted.includes(scope));
}
