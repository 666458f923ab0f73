// What a role may do in an account. Pure.
import { fault } from '#client/errors/fault.js';
import { type Membership, Role } from '#proto/auth/v1/users.js';
import type { Role as RoleName } from '../schemas/members.js';
import type { Permission } from '../schemas/profile.js';

const { ROLE_OWNER: owner, ROLE_ADMIN: admin, ROLE_DEVELOPER: developer, ROLE_BILLING: billing, ROLE_VIEWER: viewer } = Role;

const rolesOf: Readonly<Record<Permission, readonly Role[]>> = {
  look: [owner, admin, developer, billing, viewer],
  'change keys': [owner, admin, developer],
  'change money': [owner, admin, billing],
  'change members': [owner, admin],
  'change projects': [owner, admin],
};

/** The words for roles, in the console and its API. */
export const roleNames = { owner, admin, developer, billing, viewer } as const;

/** Returns the word for a role. */
export function roleName(role: Role): RoleName {
  return (Object.keys(roleNames) as RoleName[]).find((name) => roleNames[name] === role)!;
}

/** Returns the permissions of a role. */
export function permissionsOf(role: Role): Permission[] {
  return (Object.keys(rolesOf) as Permission[]).filter((permission) => rolesOf[permission].includes(role));
}

/**
 * Returns the role of the user in an account, if it has the permission; operators have the role of an owner in every account. Raises
 * not_found for an account that the user is not a member of, so that users cannot find out which accounts exist, and role_not_permitted.
 */
export function assertAllowed(memberships: readonly Membership[], isOperator: boolean, accountId: string, permission: Permission): Role {
  const role = isOperator ? owner : memberships.find(({ account }) => account?.id === accountId)?.role;
  if (role === undefined) throw fault('no_account_of_yours', {}, { details: { what: 'account' } });
  if (rolesOf[permission].includes(role)) return role;
  throw fault('permission', { role: roleName(role), permission });
}

/** Checks that only owners appoint, change or remove owners. Raises role_not_permitted. */
export function assertMayPut(actor: Role, present: Role | undefined, wanted: Role | undefined): void {
  if (actor === owner || (present !== owner && wanted !== owner)) return;
  throw fault('owners_only', {});
}
