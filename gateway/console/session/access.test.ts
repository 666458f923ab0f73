import { describe, expect, it } from '@jest/globals';
import { Membership, Role } from '#proto/auth/v1/users.js';
import { assertAllowed, assertMayPut, permissionsOf, roleName, roleNames } from './access.js';

const member = (id: string, role: Role) => Membership.fromPartial({ account: { id }, role });

describe('what a role may do', () => {
  it.each([
    ['owner', ['look', 'change keys', 'change money', 'change members', 'change projects']],
    ['admin', ['look', 'change keys', 'change money', 'change members', 'change projects']],
    ['developer', ['look', 'change keys']],
    ['billing', ['look', 'change money']],
    ['viewer', ['look']],
  ] as const)('%s', (name, permissions) => {
    expect(permissionsOf(roleNames[name])).toEqual(permissions);
    expect(roleName(roleNames[name])).toBe(name);
  });

  it('applies only in the accounts of the user, and in every account for an operator', () => {
    const memberships = [member('acct_a', Role.ROLE_VIEWER)];
    expect(assertAllowed(memberships, false, 'acct_a', 'look')).toBe(Role.ROLE_VIEWER);
    expect(() => assertAllowed(memberships, false, 'acct_a', 'change keys')).toThrow(
      expect.objectContaining({ reason: 'role_not_permitted' }),
    );
    expect(() => assertAllowed(memberships, false, 'acct_b', 'look')).toThrow(expect.objectContaining({ reason: 'not_found' }));
    expect(assertAllowed([], true, 'acct_b', 'change members')).toBe(Role.ROLE_OWNER);
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
