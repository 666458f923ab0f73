import { describe, expect, it } from '@jest/globals';
import { Membership, Role } from '#proto/auth/v1/users.js';
import { assertAllowed, assertMayChangeKeysOf, assertMayPut, permissionsOf, roleName, roleNames } from './access.js';

const member = (id: string, role: Role) => Membership.fromPartial({ account: { id }, role });

describe('what a role may do', () => {
  it.each([
    ['owner', ['look', 'see projects', 'change keys', 'change money', 'change members', 'change projects']],
    ['admin', ['look', 'see projects', 'change keys', 'change money', 'change members', 'change projects']],
    ['developer', ['look', 'see projects', 'change keys']],
    ['billing', ['look', 'see projects', 'change money']],
    ['viewer', ['look', 'see projects']],
    ['member', ['see projects']],
  ] as const)('%s', (name, permissions) => {
    expect(permissionsOf(roleNames[name])).toEqual(permissions);
    expect(roleName(roleNames[name])).toBe(name);
  });

  it('applies only in the accounts of the user, and in every account for an operator', () => {
    const memberships = [member('acct_a', Role.ROLE_VIEWER)];
    expect(assertAllowed(memberships, false, 'acct_a', 'look')).toEqual({ role: Role.ROLE_VIEWER });
    expect(() => assertAllowed(memberships, false, 'acct_a', 'change keys')).toThrow(
      expect.objectContaining({ reason: 'role_not_permitted' }),
    );
    expect(() => assertAllowed(memberships, false, 'acct_b', 'look')).toThrow(expect.objectContaining({ reason: 'not_found' }));
    expect(assertAllowed([], true, 'acct_b', 'change members')).toEqual({ role: Role.ROLE_OWNER });
  });

  it('of a member is limited to the projects in which they have a role', () => {
    const projectRoles = [
      { projectId: 'proj_1', role: Role.ROLE_DEVELOPER },
      { projectId: 'proj_2', role: Role.ROLE_VIEWER },
    ];
    const memberships = [{ ...member('acct_a', Role.ROLE_MEMBER), projectRoles }];
    for (const permission of ['see projects', 'change keys'] as const) {
      expect(assertAllowed(memberships, false, 'acct_a', permission)).toEqual({ role: Role.ROLE_MEMBER, projectIds: ['proj_1', 'proj_2'] });
    }
    for (const permission of ['look', 'change money', 'change members', 'change projects'] as const) {
      expect(() => assertAllowed(memberships, false, 'acct_a', permission)).toThrow(
        expect.objectContaining({ reason: 'role_not_permitted' }),
      );
    }
  });

  it('allows changes of keys in all projects by a role in the account, and otherwise only in those in which the user is a developer', () => {
    const projectRoles = [
      { projectId: 'proj_1', role: Role.ROLE_DEVELOPER },
      { projectId: 'proj_2', role: Role.ROLE_VIEWER },
    ];
    const mayIn = (role: Role, projectId: string, isOperator = false): boolean => {
      try {
        assertMayChangeKeysOf([{ ...member('acct_a', role), projectRoles }], isOperator, { accountId: 'acct_a', projectId });
        return true;
      } catch (error) {
        expect(error).toMatchObject({ reason: 'role_not_permitted' });
        return false;
      }
    };
    for (const role of [Role.ROLE_OWNER, Role.ROLE_ADMIN, Role.ROLE_DEVELOPER]) expect([role, mayIn(role, 'proj_3')]).toEqual([role, true]);
    for (const role of [Role.ROLE_MEMBER, Role.ROLE_VIEWER, Role.ROLE_BILLING])
      expect([role, ...['proj_1', 'proj_2', 'proj_3'].map((projectId) => mayIn(role, projectId))]).toEqual([role, true, false, false]);
    expect(mayIn(Role.ROLE_VIEWER, 'proj_2', true)).toBe(true);
  });

  it('lets only owners change owners', () => {
    expect(() => assertMayPut(Role.ROLE_OWNER, Role.ROLE_OWNER, undefined)).not.toThrow();
    expect(() => assertMayPut(Role.ROLE_ADMIN, Role.ROLE_VIEWER, Role.ROLE_ADMIN)).not.toThrow();
    for (const [present, wanted] of [
      [Role.ROLE_OWNER, Role.ROLE_VIEWER],
      [undefined, Role.ROLE_OWNER],
      [Role.ROLE_OWNER, undefined],
    ] as const) {
      expect(() => assertMayPut(Role.ROLE_ADMIN, present, wanted)).toThrow(expect.objectContaining({ reason: 'role_not_permitted' }));
    }
  });
});
