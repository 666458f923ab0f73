import { describe, expect, it } from '@jest/globals';
import { Membership, Role } from '#proto/auth/v1/users.js';
import { assertAllowed, assertMayPut, permissionsOf, roleName, roleNames } from './access.js';

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
