// What an acting user may do to users and sessions, beyond the role that the contract requires.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Knex } from 'knex';
import { idToBytes } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import type { CallContext } from '#client/call-context.js';
import { CreateProjectRequest } from '#proto/auth/v1/auth.js';
import {
  AddSecondFactorRequest,
  BeginSecondFactorRequest,
  type Client,
  ConnectIdentityRequest,
  CreateRecoveryCodesRequest,
  CreateUserRequest,
  ReauthenticateRequest,
  RevokeSessionsRequest,
  Role,
  type SignedIn,
  UpdateProfileRequest,
  UpdateUserRequest,
} from '#proto/auth/v1/users.js';
import { actingAs, newAccount, operator, password, startTestAuth, type TestAuth } from '../testing/auth.js';
import { MemberStore } from './store/members.js';
import { UserStore } from './store/users.js';

// Hashing a password takes a core a fifth of a second.
jest.setTimeout(60_000);

describe.each(testEngines)('an acting user on %s', (engine) => {
  let auth: TestAuth;
  let accountId: string;
  const signedIn: Record<string, SignedIn> = {};
  const client: Client = { address: '192.0.2.1', userAgent: 'Test' };

  beforeAll(async () => {
    auth = await startTestAuth(engine);
    accountId = (await newAccount(auth.service)).id;
    for (const name of ['owner', 'admin', 'viewer', 'stranger', 'boss']) {
      const email = `${name}@example.com`;
      await auth.users.createUser(CreateUserRequest.fromPartial({ email, name, password, isOperator: name === 'boss' }), operator);
      signedIn[name] = (await auth.users.signIn({ email, password, client }, operator)).signedIn!;
    }
    for (const [name, role] of [
      ['owner', Role.ROLE_OWNER],
      ['admin', Role.ROLE_ADMIN],
      ['viewer', Role.ROLE_VIEWER],
    ] as const)
      await auth.users.putMember({ accountId, userId: idOf(name), role }, operator);
  });
  afterAll(() => auth.stop());

  const idOf = (name: string): string => signedIn[name]!.user!.id;
  const as = (name: string): CallContext => actingAs(signedIn[name]!, { [accountId]: name });
  const refused = { reason: 'role_not_permitted' };

  it('acts only in their own session', async () => {
    const sessionId = signedIn['owner']!.session!.id;
    const rename = (name: string) =>
      auth.users.updateProfile(UpdateProfileRequest.fromPartial({ sessionId, name: 'New name', updateMask: ['name'] }), as(name));
    await expect(rename('stranger')).rejects.toMatchObject(refused);
    await expect(rename('boss')).rejects.toMatchObject(refused);
    expect((await rename('owner')).user!.name).toBe('New name');
    const fields = { sessionId, currentPassword: password };
    await expect(auth.users.confirmPassword(fields, as('stranger'))).rejects.toMatchObject(refused);
    await expect(auth.users.setPassword({ ...fields, newPassword: 'another phrase' }, as('stranger'))).rejects.toMatchObject(refused);
    const { users } = auth;
    for (const change of [
      () => users.connectIdentity(ConnectIdentityRequest.fromPartial({ sessionId }), as('stranger')),
      () => users.disconnectIdentity({ sessionId, identityId: '' }, as('stranger')),
      () => users.beginReauthentication({ sessionId }, as('stranger')),
      () => users.reauthenticate(ReauthenticateRequest.fromPartial({ sessionId }), as('stranger')),
      () => users.beginSecondFactor(BeginSecondFactorRequest.fromPartial({ sessionId }), as('stranger')),
      () => users.addSecondFactor(AddSecondFactorRequest.fromPartial({ sessionId }), as('stranger')),
      () => users.createRecoveryCodes(CreateRecoveryCodesRequest.fromPartial({ sessionId }), as('stranger')),
    ])
      await expect(change()).rejects.toMatchObject({ ...refused, details: { rule: 'own_session_only' } });
  });

  it('sees and ends only their own sessions, unless they are an operator', async () => {
    const userId = idOf('viewer');
    const end = RevokeSessionsRequest.fromPartial({ userId, exceptSessionId: signedIn['viewer']!.session!.id });
    await expect(auth.users.listSessions({ userId }, as('owner'))).rejects.toMatchObject(refused);
    await expect(auth.users.revokeSessions(end, as('owner'))).rejects.toMatchObject(refused);
    await expect(auth.users.listIdentities({ userId }, as('owner'))).rejects.toMatchObject(refused);
    await expect(auth.users.listSecondFactors({ userId }, as('owner'))).rejects.toMatchObject(refused);
    for (const name of ['viewer', 'boss']) {
      expect((await auth.users.listSessions({ userId }, as(name))).sessions).toHaveLength(1);
      await auth.users.revokeSessions(end, as(name));
    }
  });

  it('changes owners only as an owner, and other members only as an owner or admin', async () => {
    const put = (name: string, member: string, role: Role) => auth.users.putMember({ accountId, userId: idOf(member), role }, as(name));
    const remove = (name: string, member: string) => auth.users.deleteMember({ accountId, userId: idOf(member) }, as(name));
    await expect(put('admin', 'admin', Role.ROLE_OWNER)).rejects.toMatchObject(refused);
    await expect(put('admin', 'owner', Role.ROLE_VIEWER)).rejects.toMatchObject(refused);
    await expect(put('admin', 'stranger', Role.ROLE_VIEWER)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(remove('admin', 'owner')).rejects.toMatchObject(refused);
    await expect(remove('viewer', 'admin')).rejects.toMatchObject(refused);
    await put('admin', 'viewer', Role.ROLE_DEVELOPER);
    await remove('viewer', 'viewer');
  });

  it("neither demotes nor removes a member who became an owner while the admin's request was in progress", async () => {
    const changes = [
      (userId: string) => auth.users.putMember({ accountId, userId, role: Role.ROLE_VIEWER }, as('admin')),
      (userId: string) => auth.users.deleteMember({ accountId, userId }, as('admin')),
    ];
    for (const [number, change] of changes.entries()) {
      const fields = CreateUserRequest.fromPartial({ email: `promoted${number}@example.com`, name: 'Promoted' });
      const { id: userId } = (await auth.users.createUser(fields, operator)).user!;
      await auth.users.putMember({ accountId, userId, role: Role.ROLE_DEVELOPER }, operator);
      let changing: Promise<unknown> | undefined;
      await auth.db.transaction(async (tx) => {
        const promotion = { userId: idToBytes('user', userId)!, role: Role.ROLE_OWNER, nowMs: auth.clock.nowMs() };
        await new MemberStore(auth.db).put(tx, idToBytes('acct', accountId)!, promotion);
        changing = change(userId);
        changing.catch(() => {});
        // Longer than finding out the present role takes, if the change does so before the commit.
        await pause(500);
      });
      await expect(changing).rejects.toMatchObject(refused);
      const { members } = await auth.users.listMembers({ accountId }, operator);
      expect(members.find(({ user }) => user!.id === userId)).toMatchObject({ role: Role.ROLE_OWNER });
    }
  });

  it('changes no members with a role that is being taken away', async () => {
    const fields = CreateUserRequest.fromPartial({ email: 'former.admin@example.com', name: 'Former' });
    const { user } = await auth.users.createUser(fields, operator);
    await auth.users.putMember({ accountId, userId: user!.id, role: Role.ROLE_ADMIN }, operator);
    const actor = actingAs({ ...signedIn['admin']!, user }, { [accountId]: 'admin' });
    const { project } = await auth.service.createProject(CreateProjectRequest.fromPartial({ accountId, name: 'Search' }), operator);
    const changes = [
      () => auth.users.putProjectMember({ accountId, userId: user!.id, projectId: project!.id, role: Role.ROLE_DEVELOPER }, actor),
      () => auth.users.putMember({ accountId, userId: user!.id, role: Role.ROLE_ADMIN }, actor),
      () => auth.users.deleteMember({ accountId, userId: idOf('admin') }, actor),
    ];
    let outcomes: Promise<PromiseSettledResult<unknown>[]> | undefined;
    await auth.db.transaction(async (tx) => {
      const demotion = { userId: idToBytes('user', user!.id)!, role: Role.ROLE_VIEWER, nowMs: auth.clock.nowMs() };
      await new MemberStore(auth.db).put(tx, idToBytes('acct', accountId)!, demotion);
      outcomes = Promise.allSettled(changes.map((change) => change()));
      // Longer than finding out the role of the actor takes, if the change does so before the commit.
      await pause(500);
    });
    expect(await outcomes).toMatchObject(changes.map(() => ({ reason: refused })));
  });

  it.each([
    ['disabled', { isDisabled: true }],
    ['no operator', { isOperator: false }],
  ])('changes neither users nor members while they are being %s, since they could restore themselves', async (word, loss) => {
    const fields = { email: `boss.${word.replace(' ', '.')}@example.com`, name: 'Former', isOperator: true };
    const { user } = await auth.users.createUser(CreateUserRequest.fromPartial(fields), operator);
    const actor = actingAs({ ...signedIn['boss']!, user });
    const { project } = await auth.service.createProject(CreateProjectRequest.fromPartial({ accountId, name: word }), operator);
    const restored = { userId: user!.id, isOperator: true, updateMask: ['is_operator', 'is_disabled'] };
    const changes = [
      () => auth.users.updateUser(UpdateUserRequest.fromPartial(restored), actor),
      () => auth.users.putMember({ accountId, userId: user!.id, role: Role.ROLE_OWNER }, actor),
      () => auth.users.putProjectMember({ accountId, userId: idOf('admin'), projectId: project!.id, role: Role.ROLE_VIEWER }, actor),
      () => auth.users.deleteMember({ accountId, userId: idOf('admin') }, actor),
    ];
    let outcomes: Promise<PromiseSettledResult<unknown>[]> | undefined;
    await auth.db.transaction(async (tx) => {
      await new UserStore(auth.db).update(tx, idToBytes('user', user!.id)!, loss);
      outcomes = Promise.allSettled(changes.map((change) => change()));
      // Longer than finding out what the user may do takes, if the changes do so before the commit.
      await pause(500);
    });
    expect(await outcomes).toMatchObject(changes.map(() => ({ reason: refused })));
  });

  it('invites in their own name, and invites owners only as an owner', async () => {
    const invite = (name: string, email: string, role: Role) =>
      auth.users.createInvitation({ accountId, email, role, invitedByUserId: idOf('boss'), projectRoles: [], language: '' }, as(name));
    await expect(invite('admin', 'a@example.com', Role.ROLE_OWNER)).rejects.toMatchObject(refused);
    expect((await invite('admin', 'b@example.com', Role.ROLE_VIEWER)).invitation!.invitedByUserId).toBe(idOf('admin'));
    await invite('owner', 'c@example.com', Role.ROLE_OWNER);
  });

  it('replaces and revokes invitations of owners only as an owner or operator', async () => {
    const invite = async (name: string, role: Role): Promise<string> => {
      const fields = { accountId, email: 'd@example.com', role, invitedByUserId: '', projectRoles: [], language: '' };
      return (await auth.users.createInvitation(fields, as(name))).invitation!.id;
    };
    const revoke = (name: string, invitationId: string) => auth.users.revokeInvitation({ accountId, invitationId }, as(name));
    const ownersOnly = { ...refused, details: { rule: 'owners_only' } };

    const toOwner = await invite('owner', Role.ROLE_OWNER);
    await expect(invite('admin', Role.ROLE_VIEWER)).rejects.toMatchObject(ownersOnly);
    await expect(revoke('admin', toOwner)).rejects.toMatchObject(ownersOnly);
    const { invitations } = await auth.users.listInvitations({ accountId }, operator);
    expect(invitations.map(({ id }) => id)).toContain(toOwner);

    const toViewer = await invite('owner', Role.ROLE_VIEWER);
    await revoke('admin', toViewer);
    await revoke('boss', await invite('owner', Role.ROLE_OWNER));
    await invite('owner', Role.ROLE_OWNER);
    auth.clock.advance(7 * 86_400_000);
    await invite('admin', Role.ROLE_VIEWER);
  });

  const ownAccount = (): Buffer => idToBytes('acct', accountId)!;
  it.each<[string, (tx: Knex.Transaction, userId: Buffer) => Promise<unknown>, { isOperator: boolean }]>([
    ['removed', (tx, userId) => new MemberStore(auth.db).remove(tx, ownAccount(), userId, () => undefined), { isOperator: false }],
    [
      'demoted',
      (tx, userId) => new MemberStore(auth.db).put(tx, ownAccount(), { userId, role: Role.ROLE_VIEWER, nowMs: 0 }),
      { isOperator: false },
    ],
    ['disabled', (tx, userId) => new UserStore(auth.db).update(tx, userId, { isDisabled: true }), { isOperator: true }],
    ['no operator', (tx, userId) => new UserStore(auth.db).update(tx, userId, { isOperator: false }), { isOperator: true }],
  ])('invites nobody while they are being %s, since they could return with the invitation', async (word, lose, { isOperator }) => {
    const email = `${word.replace(' ', '.')}@example.com`;
    const { user } = await auth.users.createUser(CreateUserRequest.fromPartial({ email, name: 'Leaver', isOperator }), operator);
    if (!isOperator) await auth.users.putMember({ accountId, userId: user!.id, role: Role.ROLE_ADMIN }, operator);
    const actor = actingAs({ ...signedIn['admin']!, user }, isOperator ? {} : { [accountId]: 'admin' });
    const invitation = { accountId, email: `alias.of.${email}`, role: Role.ROLE_ADMIN, projectRoles: [], language: '' };
    let inviting: Promise<unknown> | undefined;
    await auth.db.transaction(async (tx) => {
      await lose(tx, idToBytes('user', user!.id)!);
      inviting = auth.users.createInvitation({ ...invitation, invitedByUserId: user!.id }, actor);
      inviting.catch(() => {});
      // Longer than finding out what the user may do takes, if the invitation does so before the commit.
      await pause(500);
    });
    await expect(inviting).rejects.toMatchObject(refused);
    const { invitations } = await auth.users.listInvitations({ accountId }, operator);
    expect(invitations.map((each) => each.email)).not.toContain(invitation.email);
  });
});
