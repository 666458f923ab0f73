// Invitations: their maximum number, their roles in projects, and how they are revoked.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { type Account, CreateProjectRequest } from '#proto/auth/v1/auth.js';
import {
  AcceptInvitationRequest,
  CreateInvitationRequest,
  CreateUserRequest,
  ListAuditEventsRequest,
  ListUsersRequest,
  Role,
  SignInMethod,
  UpdateUserRequest,
  type User,
} from '#proto/auth/v1/users.js';
import {
  identityProvider,
  identityResponse,
  newAccount,
  newClient,
  operator,
  password,
  startTestAuth,
  type TestAuth,
} from '../testing/auth.js';
import type { IdentityClaims } from './oidc/identity-claims.js';
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

  describe('accepted with an identity', () => {
    let account: Account;
    let subjects = 0;
    beforeAll(async () => {
      account = await owned('Provided');
      auth.config.signUp = false;
    });
    afterAll(() => {
      auth.config.signUp = true;
    });
    const owned = async (name: string): Promise<Account> => {
      const added = await newAccount(auth.service, name);
      await auth.users.putMember({ accountId: added.id, userId: host.id, role: Role.ROLE_OWNER }, operator);
      return added;
    };
    const claims = (email: string, fields: Partial<IdentityClaims> = {}): IdentityClaims => ({
      issuer: identityProvider.issuer,
      subject: `subject ${(subjects += 1)}`,
      email,
      emailVerified: true,
      name: 'Grace',
      authenticatedAtMs: auth.clock.nowMs() - 60_000,
      ...fields,
    });
    const accept = async (token: string, given: IdentityClaims) =>
      (
        await auth.users.acceptInvitation(
          AcceptInvitationRequest.fromPartial({ token, client: newClient(), identity: identityResponse(given) }),
          operator,
        )
      ).signedIn!;
    const signInWith = async (given: IdentityClaims) =>
      (await auth.users.signInWithIdentity({ response: identityResponse(given), client: newClient() }, operator)).signedIn!.user!;
    const refused = (why: string) => expect.objectContaining({ reason: 'sign_in_refused', details: expect.objectContaining({ why }) });
    const membersOf = async () => (await auth.users.listMembers({ accountId: account.id }, operator)).members;
    const eventsOf = async (userId: string) =>
      (
        await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial({ accountId: account.id, pageSize: 50 }), operator)
      ).events.filter(({ targetId }) => targetId === userId);

    it('add a user without a password and without an account, also if sign-up is closed', async () => {
      expect([auth.config.signUp, auth.config.oidcSignUp]).toEqual([false, false]);
      const token = await invite(account, 'new@example.com');
      const given = claims('New@Example.com');
      const { user, session } = await accept(token, given);
      expect(user).toMatchObject({ email: 'new@example.com', name: 'Grace', hasPassword: false, emailVerified: true });
      expect(session).toMatchObject({
        method: SignInMethod.SIGN_IN_METHOD_IDENTITY,
        authenticatedAtMs: BigInt(given.authenticatedAtMs!),
      });
      expect((await membersOf()).filter((each) => each.user!.id === user!.id)).toMatchObject([{ role: Role.ROLE_VIEWER }]);
      expect(await eventsOf(user!.id)).toMatchObject([
        { action: 'member.accept', actorName: 'new@example.com', detailJson: expect.stringContaining(`"issuer":"${given.issuer}"`) },
      ]);
      expect((await signInWith(given)).id).toBe(user!.id);
      await expect(accept(token, given)).rejects.toMatchObject({ reason: 'not_found' });
    });

    it('need the invited address, verified by the provider', async () => {
      const token = await invite(account, 'wanted@example.com');
      await expect(accept(token, claims('other@example.com'))).rejects.toEqual(refused('invitation_other'));
      await expect(accept(token, claims('wanted@example.com', { emailVerified: false }))).rejects.toEqual(refused('email_unverified'));
      await expect(accept(token, claims(''))).rejects.toEqual(refused('email_unverified'));
      expect((await auth.users.listUsers(ListUsersRequest.fromPartial({ email: 'wanted@example.com' }), operator)).users).toEqual([]);
      await accept(token, claims('wanted@example.com'));
    });

    it('admit a user who is connected with it, by the address here or the verified one there', async () => {
      await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'here@example.com', name: 'Here' }), operator);
      const given = claims('here@example.com');
      const { id } = await signInWith(given);
      const byAddressHere = await accept(await invite(account, 'here@example.com'), { ...given, email: '', emailVerified: false });
      const byAddressThere = await accept(await invite(account, 'there@example.com'), { ...given, email: 'there@example.com' });
      expect([byAddressHere.user!.id, byAddressThere.user!.id]).toEqual([id, id]);
      const other = await invite(account, 'third@example.com');
      await expect(accept(other, given)).rejects.toEqual(refused('invitation_other'));
      await expect(accept(other, { ...given, email: 'third@example.com', emailVerified: false })).rejects.toEqual(
        refused('email_unverified'),
      );
    });

    it('connect a user with the address under the rules of a sign-in', async () => {
      const { user } = await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'known@example.com', name: 'Known' }), operator);
      const given = claims('known@example.com');
      expect((await accept(await invite(account, 'known@example.com'), given)).user!.id).toBe(user!.id);
      expect((await auth.users.listIdentities({ userId: user!.id }, operator)).identities).toMatchObject([{ email: 'known@example.com' }]);
      // The user who has the address is connected with another identity, or has only claimed the address.
      const other = await owned('Other');
      await expect(accept(await invite(other, 'known@example.com'), claims('known@example.com'))).rejects.toEqual(refused('email_taken'));
      const claimed = { token: await invite(account, 'claimed@example.com'), name: 'Eve', password, client: newClient(), sessionId: '' };
      await auth.users.acceptInvitation(claimed, operator);
      await expect(accept(await invite(other, 'claimed@example.com'), claims('claimed@example.com'))).rejects.toEqual(
        refused('email_taken'),
      );
      const isDisabled = { userId: user!.id, isDisabled: true, updateMask: ['is_disabled'] };
      await auth.users.updateUser(UpdateUserRequest.fromPartial(isDisabled), operator);
      await expect(accept(await invite(other, 'known@example.com'), given)).rejects.toEqual(refused('disabled'));
    });

    it('add one user when the same user accepts two at once', async () => {
      const [one, two] = [await invite(account, 'twice@example.com'), await invite(await owned('Second'), 'twice@example.com')];
      const given = claims('twice@example.com');
      const outcomes = await Promise.allSettled([accept(one, given), accept(two, given)]);
      for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toEqual(refused('email_taken'));
      const { users } = await auth.users.listUsers(ListUsersRequest.fromPartial({ email: 'twice@example.com' }), operator);
      expect(users).toHaveLength(1);
    });

    it('are refused after they expired or were revoked', async () => {
      const revoked = await invite(account, 'late@example.com');
      const invitation = (await open(account)).find(({ email }) => email === 'late@example.com')!;
      await auth.users.revokeInvitation({ accountId: account.id, invitationId: invitation.id }, operator);
      await expect(accept(revoked, claims('late@example.com'))).rejects.toMatchObject({ reason: 'not_found' });
      const expired = await invite(account, 'late@example.com');
      auth.clock.advance(7 * 86_400_000);
      await expect(accept(expired, claims('late@example.com'))).rejects.toMatchObject({ reason: 'not_found' });
    });
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
