// What a role may do in an account. Pure.
import { AppError } from '#client/errors/app-error.js';
import { type Membership, Role } from '#proto/auth/v1/users.js';

/** What can be asked for in an account. */
export type Permission = 'look' | 'change keys' | 'change money' | 'change members';

const { ROLE_OWNER: owner, ROLE_ADMIN: admin, ROLE_DEVELOPER: developer, ROLE_BILLING: billing, ROLE_VIEWER: viewer } = Role;

const rolesOf: Readonly<Record<Permission, readonly Role[]>> = {
  look: [owner, admin, developer, billing, viewer],
  'change keys': [owner, admin, developer],
  'change money': [owner, admin, billing],
  'change members': [owner, admin],
};

/** The words for roles, in the console and its API. */
export const roleNames = { owner, admin, developer, billing, viewer } as const;

/** The word for a role. */
export function roleName(role: Role): string {
  return Object.entries(roleNames).find(([, value]) => value === role)?.[0] ?? 'unknown';
}

/** What a role may do. */
export function permissionsOf(role: Role): Permission[] {
  return (Object.keys(rolesOf) as Permission[]).filter((permission) => rolesOf[permission].includes(role));
}

/**
 * The role of somebody in an account, if it allows what is asked for; an operator has every account as its owner has it. Raises
 * not_found where the person does not belong, so that nobody learns which accounts exist, and role_not_permitted.
 */
export function assertAllowed(memberships: readonly Membership[], isOperator: boolean, accountId: string, permission: Permission): Role {
  const role = isOperator ? owner : memberships.find(({ account }) => account?.id === accountId)?.role;
  if (role === undefined)
    throw new AppError('not_found', 'There is no such account, or you do not belong to it.', { details: { what: 'account' } });
  if (rolesOf[permission].includes(role)) return role;
  throw new AppError('role_not_permitted', `As ${roleName(role)} of this account you may not ${permission}. Ask an owner or admin.`);
}

/** Only owners make owners, or change one. Raises role_not_permitted. */
export function assertMayPut(actor: Role, present: Role | undefined, wanted: Role | undefined): void {
  if (actor === owner || (present !== owner && wanted !== owner)) return;
  throw new AppError('role_not_permitted', 'Only an owner can make somebody an owner, or change or remove one.');
}
