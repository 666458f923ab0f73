// What a role may do in an account. Pure.
import { fault } from '#client/errors/fault.js';
import { type Account, AccountState } from '#proto/auth/v1/auth.js';
import { type Membership, type ProjectRole, Role } from '#proto/auth/v1/users.js';
import type { Role as RoleName } from '../schemas/members.js';
import type { Permission } from '../schemas/profile.js';

const { ROLE_OWNER: owner, ROLE_ADMIN: admin, ROLE_DEVELOPER: developer, ROLE_BILLING: billing, ROLE_VIEWER: viewer } = Role;
const { ROLE_MEMBER: member } = Role;

const rolesOf: Readonly<Record<Permission, readonly Role[]>> = {
  look: [owner, admin, developer, billing, viewer],
  'see projects': [owner, admin, developer, billing, viewer, member],
  'change keys': [owner, admin, developer],
  'change money': [owner, admin, billing],
  'change members': [owner, admin],
  'change projects': [owner, admin],
};

/** The words for roles, in the console and its API. */
export const roleNames = { owner, admin, developer, billing, viewer, member } as const;

/** Returns the word for a role. */
export function roleName(role: Role): RoleName {
  return (Object.keys(roleNames) as RoleName[]).find((name) => roleNames[name] === role)!;
}

/** Returns the permissions of a role in an account, with those that roles in projects add for their projects. */
export function permissionsOf(role: Role, projectRoles: readonly ProjectRole[] = []): Permission[] {
  const mayChangeKeys = projectRoles.some((each) => each.role === developer);
  return (Object.keys(rolesOf) as Permission[]).filter(
    (permission) => rolesOf[permission].includes(role) || (permission === 'change keys' && mayChangeKeys),
  );
}

/** What a user may do in an account. */
export interface AccountAccess {
  readonly role: Role;
  /** The only projects that the user may see; undefined for all. The services check what the user may do in each of them. */
  readonly projectIds: readonly string[] | undefined;
}

/**
 * Returns the access of the user to an account, if it includes the permission; operators have the role of an owner in every account. Raises
 * not_found for an account that the user is not a member of, so that users cannot find out which accounts exist, and role_not_permitted.
 */
export function assertAllowed(
  memberships: readonly Membership[],
  isOperator: boolean,
  accountId: string,
  permission: Permission,
): AccountAccess {
  if (isOperator) return { role: owner, projectIds: undefined };
  const membership = memberships.find(({ account }) => account?.id === accountId);
  if (membership === undefined) throw fault('no_account_of_yours', {}, { details: { what: 'account' } });
  const { role, projectRoles } = membership;
  if (permissionsOf(role, projectRoles).includes(permission)) {
    return { role, projectIds: role === member ? projectRoles.map(({ projectId }) => projectId) : undefined };
  }
  throw fault('permission', { role: roleName(role), permission });
}

/** Checks that the user may change the keys of a project, by the role in the account or by one in the project. Raises role_not_permitted. */
export function assertMayChangeKeysOf(
  memberships: readonly Membership[],
  isOperator: boolean,
  { accountId, projectId }: { readonly accountId: string; readonly projectId: string },
): void {
  const { role } = assertAllowed(memberships, isOperator, accountId, 'change keys');
  if (rolesOf['change keys'].includes(role)) return;
  const { projectRoles } = memberships.find(({ account }) => account?.id === accountId)!;
  if (!projectRoles.some((each) => each.projectId === projectId && each.role === developer)) throw fault('role_not_permitted', {});
}

/** Checks that an account may receive money from its members. Raises account_suspended. */
export function assertActive({ state, stateReason }: Account): void {
  if (state !== AccountState.ACCOUNT_STATE_SUSPENDED) return;
  if (stateReason === '') throw fault('suspended_here', {});
  throw fault('suspended_here_because', { why: stateReason });
}

/** Checks that only owners make, change or remove owners. Raises role_not_permitted. */
export function assertMayPut(actor: Role, present: Role | undefined, wanted: Role | undefined): void {
  if (actor === owner || (present !== owner && wanted !== owner)) return;
  throw fault('owners_only', {});
}
