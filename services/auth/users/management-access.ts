// The roles of a user who acts in an account through a management key.
import { idToBytes } from '#kit/id.js';
import { type ManagementKey, type Member, type Membership, Role, type User } from '#proto/auth/v1/users.js';
import type { UserDeps } from './deps.js';

const { ROLE_OWNER: owner, ROLE_ADMIN: admin, ROLE_DEVELOPER: developer, ROLE_VIEWER: viewer, ROLE_MEMBER: member } = Role;

type Roles = Pick<Member, 'role' | 'projectRoles'>;

/**
 * Returns the user's present roles, limited to the project of the key if it has one; `own` are those of the user's membership of the account,
 * and operators are owners everywhere. Undefined for a disabled user, and for one who has no role in the account or the project. Pure.
 */
export function rolesBy({ projectId }: Pick<ManagementKey, 'projectId'>, user: User, own: Roles | undefined): Roles | undefined {
  if (user.isDisabled) return undefined;
  const present = user.isOperator ? { role: owner, projectRoles: [] } : own;
  if (present === undefined || projectId === '') return present;
  const inProject = present.projectRoles.find((each) => each.projectId === projectId)?.role;
  if (present.role === member && inProject === undefined) return undefined;
  const role = [owner, admin, developer].includes(present.role) || inProject === developer ? developer : viewer;
  return { role: member, projectRoles: [{ projectId, role }] };
}

/** Returns these roles as the user's membership of the key's account. */
export async function membershipBy(
  key: Pick<ManagementKey, 'accountId' | 'projectId'>,
  user: User,
  { accounts, members }: Pick<UserDeps, 'accounts' | 'members'>,
): Promise<Membership | undefined> {
  const memberships = user.isOperator ? [] : await members.ofUser(idToBytes('user', user.id)!);
  const own = memberships.find(({ account }) => account?.id === key.accountId);
  const roles = rolesBy(key, user, own);
  if (roles === undefined) return undefined;
  return { ...roles, account: own?.account ?? (await accounts.find(idToBytes('acct', key.accountId)!)) };
}
