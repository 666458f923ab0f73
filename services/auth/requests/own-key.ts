// The key of a request that also names the account.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { includesProject, projectsOf } from '#kit/rpc/access/projects.js';
import type { Key } from '#proto/auth/v1/auth.js';
import { accountIdBytes, keyIdBytes } from './fields.js';
import { found } from './found.js';

/** Holds the id of the key, and a check that the account owns it and the acting user has the role in its project. */
export interface OwnKey {
  readonly id: Buffer;
  /**
   * Raises not_found for a key of another account, or of a project that the user may not see, as for a key that does not exist, and
   * role_not_permitted for a user who may only see it.
   */
  check(key: Key): void;
}

/** Raises invalid_request for a malformed id. */
export function ownKey(
  { keyId, accountId }: { readonly keyId: string; readonly accountId: string },
  context: CallContext,
  role: 'viewer' | 'developer',
): OwnKey {
  accountIdBytes(accountId);
  const visible = projectsOf(context, accountId, 'viewer');
  return {
    id: keyIdBytes(keyId),
    check(key) {
      found(key.accountId === accountId && includesProject(visible, key.projectId) ? key : undefined, 'key');
      assertMayIn(key.projectId, accountId, context, role);
    },
  };
}

/** Raises role_not_permitted unless the acting user has the role in the project. */
export function assertMayIn(projectId: string, accountId: string, context: CallContext, role: 'viewer' | 'developer'): void {
  if (!includesProject(projectsOf(context, accountId, role), projectId)) throw fault('role_not_permitted', {});
}
