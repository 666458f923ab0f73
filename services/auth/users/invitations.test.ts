// Invitations: their maximum number, their roles in projects, and how they are revoked.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { type Account, CreateProjectRequest } from '#proto/auth/v1/auth.js';
import { CreateInvitationRequest, CreateUserRequest, Role, type User } from '#proto/auth/v1/users.js';
import { newAccount, newClient, operator, password, startTestAuth, type TestAuth } from '../testing/auth.js';
import { openInvitationsMax } from './store/members.js';
import { attemptsMax, failureWindowMs } from './passwords/throttle.js';

// A hundred sequential changes take long on a busy machine.
jest.setTimeout(60_000);

describe.each(testEngines)('invitations on %s', (engine) => {
  let auth: TestAuth;
  let host: User;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    host = (await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'host@example.com', name: 'Host' }), operator)).user!;
  });
  afterAll(() => auth.stop());

  const invite = async (account: Account, email: string): Promise<string> =>
    (
      await auth.users.createInvitation(
        { accountId: account.id, email, role: Role.ROLE_VIEWER, invitedByUserId: host.id, projectRoles: [], language: '' },
        operator,
      )
    ).token;
  const open = async ({ id: accountId }: Account) => (await auth.users.listInvitations({ accountId }, operator)).invitations;
  const fill = async (account: Account, count: number): Promise<void> => {
    for (let number = 0; number < count; number += 1) await invite(account, `guest${number}@example.com`);
  };
  const refused = expect.objectContaining({
    reason: 'failed_precondition',
    details: { rule: 'invitations_full', max: '100' },
  });

  it('are at most a hundred, not counting revoked and expired ones', async () => {
    const [full, other] = [await newAccount(auth.service, 'Full'), await newAccount(auth.service, 'Other')];
    await fill(full, openInvitationsMax);
    await expect(invite(full, 'more@example.com')).rejects.toEqual(refused);
    await invite(other, 'more@example.com');
    // Replacing an open invitation is allowed, and ends the earlier one.
    await invite(full, 'guest7@example.com');
    expect(await open(full)).toHaveLength(openInvitationsMax);

    await auth.users.revokeInvitation({ accountId: full.id, invitationId: (await open(full))[0]!.id }, operator);
    await invite(full, 'more@example.com');
    await expect(invite(full, 'yet.more@example.com')).rejects.toEqual(refused);
    auth.clock.advance(7 * 86_400_000);
    await invite(full, 'yet.more@example.com');
    expect((await open(full)).map(({ email }) => email)).toEqual(['yet.more@example.com']);
  });

  it('give the roles in projects of the account', async () => {
    const [account, other] = [await newAccount(auth.service, 'Projects'), await newAccount(auth.service, 'Foreign')];
    await auth.users.putMember({ accountId: account.id, userId: host.id, role: Role.ROLE_OWNER }, operator);
    const projectOf = async ({ id: accountId }: Account): Promise<string> =>
      (await auth.service.createProject(CreateProjectRequest.fromPartial({ accountId, name: 'Search' }), operator)).project!.id;
    const inviteTo = (projectId: string) => {
      const projectRoles = [{ projectId, role: Role.ROLE_DEVELOPER }];
      const fields = {
        accountId: account.id,
        email: 'builder@example.com',
        role: Role.ROLE_MEMBER,
        invitedByUserId: host.id,
        projectRoles,
      };
      return auth.users.createInvitation(CreateInvitationRequest.fromPartial(fields), operator);
    };
    const foreignId = await projectOf(other);
    await expect(inviteTo(foreignId)).rejects.toMatchObject({ reason: 'not_found' });
    const foreign = { accountId: account.id, userId: host.id, projectId: foreignId, role: Role.ROLE_DEVELOPER };
    await expect(auth.users.putProjectMember(foreign, operator)).rejects.toMatchObject({ reason: 'not_found' });
    const projectId = await projectOf(account);
    await expect(auth.users.putProjectMember({ ...foreign, accountId: other.id }, operator)).rejects.toMatchObject({
      reason: 'not_found',
      details: { what: 'member', rule: 'no_member' },
    });
    const { token } = await inviteTo(projectId);
    await auth.users.acceptInvitation({ token, name: 'Builder', password, client: newClient(), sessionId: '' }, operator);
    const { members } = await auth.users.listMembers({ accountId: account.id }, operator);
    expect(members.find(({ user }) => user!.email === 'builder@example.com')).toMatchObject({
      role: Role.ROLE_MEMBER,
      projectRoles: [{ projectId, role: Role.ROLE_DEVELOPER }],
    });
  });

  it('show an inviter who accepts them only a few times that another user has the address', async () => {
    const account = await newAccount(auth.service, 'Curious');
    const accept = async (email: string) =>
      auth.users.acceptInvitation(
        { token: await invite(account, email), name: 'New', password, client: newClient(), sessionId: '' },
        operator,
      );
    await auth.users.putMember({ accountId: account.id, userId: host.id, role: Role.ROLE_OWNER }, operator);
    for (let number = 0; number < attemptsMax.takenEmail; number += 1) {
      const email = `known${number}@example.com`;
      await auth.users.createUser(CreateUserRequest.fromPartial({ email, name: 'Known' }), operator);
      await expect(accept(email)).rejects.toMatchObject({ reason: 'sign_in_refused' });
      // An address that no user has does not count.
      if (number === 0) await accept('unknown@example.com');
    }
    await expect(accept('other@example.com')).rejects.toMatchObject({ reason: 'sign_in_throttled', retryAfterMs: failureWindowMs });
    auth.clock.advance(failureWindowMs);
    await accept('other@example.com');
  });

  it('are revoked once, and by their own account only', async () => {
    const [account, other] = [await newAccount(auth.service, 'Own'), await newAccount(auth.service, 'Stranger')];
    await invite(account, 'guest@example.com');
    const [{ id: invitationId } = { id: '' }] = await open(account);
    const revoke = ({ id: accountId }: Account) => auth.users.revokeInvitation({ accountId, invitationId }, operator);
    await expect(revoke(other)).rejects.toMatchObject({ reason: 'not_found' });
    expect(await open(account)).toHaveLength(1);
    await revoke(account);
    expect(await open(account)).toEqual([]);
    await expect(revoke(account)).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('do not exceed the maximum when many are created at once', async () => {
    const account = await newAccount(auth.service, 'Busy');
    await fill(account, openInvitationsMax - 2);
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, (_, number) => invite(account, `racer${number}@example.com`)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toEqual(refused);
    expect(await open(account)).toHaveLength(openInvitationsMax);
  });

  it('are replaced, so that one address has a single invitation even when many are created at once', async () => {
    const account = await newAccount(auth.service, 'Twice');
    const tokens = await Promise.all(Array.from({ length: 6 }, () => invite(account, 'same@example.com')));
    expect(await open(account)).toHaveLength(1);
    const valid = await Promise.allSettled(tokens.map((token) => auth.users.getInvitation({ token }, operator)));
    expect(valid.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});
