import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { idToBytes, newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import type { Account } from '#proto/auth/v1/auth.js';
import {
  type AuditEvent,
  ListAuditEventsRequest,
  Role,
  type SignedIn,
  UpdateProfileRequest,
  UpdateUserRequest,
  type User,
} from '#proto/auth/v1/users.js';
import { newAccount, newClient, newKey, operator, password, startTestAuth, type TestAuth } from '../testing/auth.js';
import { maskOf } from '../testing/mask-of.js';
import { hashPassword, isPassword } from './passwords/password.js';
import { scopeHash } from './store/failures.js';
import { MemberStore } from './store/members.js';
import { addressScope, failuresMax, failureWindowMs } from './passwords/throttle.js';

// Hashing a password takes a core a fifth of a second, and longer when the core is shared.
jest.setTimeout(60_000);

describe('passwords', () => {
  it('are stored as Argon2id, each with its own salt, and verified', async () => {
    const [one, two] = [await hashPassword(password), await hashPassword(password)];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(one).not.toBe(two);
    expect([
      await isPassword(password, one, ''),
      await isPassword(`${password} `, one, ''),
      await isPassword(password, undefined, ''),
      await isPassword(password, 'x', ''),
    ]).toEqual([true, false, false, false]);
  });

  it('are hashed at most eight at a time', async () => {
    const check = (network: number) => isPassword(password, undefined, `192.0.2.${network}`);
    const outcomes = await Promise.allSettled(Array.from({ length: 9 }, (_, index) => check(index)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
    expect(outcomes.at(-1)).toMatchObject({ reason: { reason: 'overloaded', retryAfterMs: 2000 } });
    expect(await check(1)).toBe(false);
  });

  it('are hashed at most six at a time for one network, so that others can sign in', async () => {
    const check = (network: string) => isPassword(password, undefined, network);
    const busy = { status: 'rejected', reason: { reason: 'overloaded', retryAfterMs: 2000 } };
    const outcomes = await Promise.allSettled([...Array.from({ length: 7 }, () => check('192.0.2.1')), check('192.0.2.2')]);
    const done = { status: 'fulfilled', value: false };
    expect(outcomes).toMatchObject([done, done, done, done, done, done, busy, done]);
    expect(await check('192.0.2.1')).toBe(false);
  });
});

describe.each(testEngines)('users on %s', (engine) => {
  let auth: TestAuth;
  let account: Account;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    account = await newAccount(auth.service);
  });
  afterAll(() => auth.stop());

  const add = async (email: string, fields: { password?: string; isOperator?: boolean } = {}): Promise<User> =>
    (
      await auth.users.createUser(
        { email, name: 'Ada', password: fields.password ?? password, isOperator: fields.isOperator ?? false },
        operator,
      )
    ).user!;
  const signIn = async (email: string, secret = password, from = newClient()): Promise<SignedIn> =>
    (await auth.users.signIn({ email, password: secret, client: from }, operator)).signedIn!;
  const sessionOf = (token: string) => auth.users.getSession({ token, clientAddress: '', accountId: '' }, operator);

  it('sign in with their address, in any case, and their password', async () => {
    const user = await add('Ada@Example.com');
    expect(user).toMatchObject({ email: 'ada@example.com', hasPassword: true, isDisabled: false });
    const { token, session } = await signIn('ADA@example.com');
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const found = await sessionOf(token);
    expect(found).toMatchObject({ user, session, memberships: [] });
    await expect(sessionOf(`${token}x`)).rejects.toMatchObject({ reason: 'session_unknown' });
  });

  it('have unique, valid addresses', async () => {
    await add('only@example.com');
    await expect(add('ONLY@example.com')).rejects.toMatchObject({ reason: 'already_exists', details: { field: 'email' } });
    for (const email of ['', 'nobody', 'a b@example.com', `${'x'.repeat(250)}@example.com`, 'ada@a%b'])
      await expect(add(email)).rejects.toMatchObject({ reason: 'invalid_request' });
    await expect(add('short@example.com', { password: 'too short' })).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field: 'password' },
    });
  });

  it('have no second address for the same mailbox', async () => {
    await add('zo\u00eb@b\u00fccher.example');
    for (const email of ['zo\u00eb@xn--bcher-kva.example', 'zoe\u0308@B\u00dcCHER.example', 'zo\u00eb@\uff42\u00fccher\u3002example'])
      await expect(add(email)).rejects.toMatchObject({ reason: 'already_exists' });
    for (const email of [
      '<one@example.com',
      'one@example.com>',
      '"one"@example.com',
      'on\u200be@example.com',
      'one@exam\u00adple.com',
      'one@example.com.',
      'one@example..com',
      'one@example.com/two',
      'one@example.com?two',
      'one@example.com#two',
      'one@ex%61mple.com',
    ])
      await expect(add(email)).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'email' } });
  });

  it('get the same error whether the address or the password is wrong', async () => {
    await add('known@example.com');
    const refusals = await Promise.all(
      [signIn('known@example.com', 'something else'), signIn('unknown@example.com')].map((attempt) =>
        attempt.catch((error: Error) => error.message),
      ),
    );
    expect(new Set(refusals).size).toBe(1);
  });

  it('can try only a few wrong passwords for an address, until the window ends', async () => {
    await add('tried@example.com');
    const from = newClient();
    for (let attempt = 0; attempt < failuresMax.email; attempt += 1)
      await expect(signIn('tried@example.com', `wrong guess ${attempt}`, from)).rejects.toMatchObject({ reason: 'sign_in_refused' });
    const throttled = { reason: 'sign_in_throttled', retryAfterMs: failureWindowMs };
    await expect(signIn('tried@example.com', password, from)).rejects.toMatchObject(throttled);
    // The user, who is elsewhere, is not locked out.
    await signIn('tried@example.com');
    auth.clock.advance(failureWindowMs);
    await signIn('tried@example.com', password, from);
  });

  it('have no more guesses evaluated when these are sent in parallel', async () => {
    await add('parallel@example.com');
    const from = newClient();
    // Fewer than may be hashed at the same time.
    const guesses = await Promise.all(
      Array.from({ length: failuresMax.email + 3 }, (_, index) =>
        signIn('parallel@example.com', `wrong guess ${index}`, from).catch(({ reason }: { reason: string }) => reason),
      ),
    );
    expect(guesses.filter((reason) => reason === 'sign_in_throttled')).toHaveLength(3);
    expect(guesses.filter((reason) => reason === 'sign_in_refused')).toHaveLength(failuresMax.email);
  });

  it('can sign in from a network that they use while others guess their password from everywhere', async () => {
    await add('guessed@example.com');
    const home = newClient();
    await signIn('guessed@example.com', password, home);
    const row = {
      scope_hash: scopeHash('unknown guessed@example.com'),
      since_ms: auth.clock.nowMs(),
      failures: failuresMax.emailFromUnknown,
    };
    await auth.db.knex('sign_in_failure').where({ scope_hash: row.scope_hash }).delete();
    await auth.db.knex('sign_in_failure').insert(row);
    await expect(signIn('guessed@example.com')).rejects.toMatchObject({ reason: 'sign_in_throttled' });
    await signIn('guessed@example.com', password, home);
  });

  it('do not use up the attempts of their network by signing in, nor by attempts that must wait', async () => {
    await add('neighbour@example.com');
    const from = newClient();
    const row = () => auth.db.knex('sign_in_failure').where({ scope_hash: scopeHash(addressScope('address', from.address)) });
    await row().delete();
    for (let attempt = 0; attempt < failuresMax.email; attempt += 1)
      await signIn('neighbour@example.com', 'wrong guess', from).catch(() => undefined);
    await expect(signIn('neighbour@example.com', password, from)).rejects.toMatchObject({ reason: 'sign_in_throttled' });
    await add('neighbour2@example.com');
    await signIn('neighbour2@example.com', password, from);
    expect(Number((await row().first())!['failures'])).toBe(failuresMax.email);
  });

  it('leave no rows with invented email addresses from a network that must wait', async () => {
    const from = newClient();
    const scope = scopeHash(addressScope('address', from.address));
    await auth.db.knex('sign_in_failure').where({ scope_hash: scope }).delete();
    await auth.db.knex('sign_in_failure').insert({ scope_hash: scope, since_ms: auth.clock.nowMs(), failures: failuresMax.address });
    const rows = () => auth.db.knex('sign_in_failure').count();
    const before = await rows();
    for (let number = 0; number < 3; number += 1)
      await expect(signIn(`invented${number}@example.com`, password, from)).rejects.toMatchObject({ reason: 'sign_in_throttled' });
    expect(await rows()).toEqual(before);
    auth.clock.advance(failureWindowMs);
  });

  it('start with no failures after a successful sign-in', async () => {
    await add('forgetful@example.com');
    const from = newClient();
    for (let round = 0; round < 3; round += 1) {
      for (let attempt = 1; attempt < failuresMax.email; attempt += 1)
        await signIn('forgetful@example.com', 'wrong guess', from).catch(() => undefined);
      await signIn('forgetful@example.com', password, from);
    }
  });

  it('list their sessions, and end one or all others', async () => {
    const user = await add('many@example.com');
    const [one, two, three] = [await signIn('many@example.com'), await signIn('many@example.com'), await signIn('many@example.com')];
    expect((await auth.users.listSessions({ userId: user.id }, operator)).sessions.map(({ id }) => id).sort()).toEqual(
      [one, two, three].map(({ session }) => session!.id).sort(),
    );
    expect(await auth.users.revokeSessions({ userId: user.id, sessionId: one.session!.id, exceptSessionId: '' }, operator)).toEqual({
      revoked: 1,
    });
    await expect(sessionOf(one.token)).rejects.toMatchObject({ reason: 'session_unknown' });
    expect(await auth.users.revokeSessions({ userId: user.id, sessionId: '', exceptSessionId: three.session!.id }, operator)).toEqual({
      revoked: 1,
    });
    await expect(sessionOf(two.token)).rejects.toMatchObject({ reason: 'session_unknown' });
    await sessionOf(three.token);
  });

  it('are signed out after a week without use, and after a month in any case', async () => {
    await add('idle@example.com');
    const { token } = await signIn('idle@example.com');
    const dayMs = 86_400_000;
    for (let day = 0; day < 29; day += 6) {
      await sessionOf(token);
      auth.clock.advance(6 * dayMs);
    }
    await expect(sessionOf(token)).rejects.toMatchObject({ reason: 'session_unknown' });
    const other = await signIn('idle@example.com');
    auth.clock.advance(7 * dayMs);
    await expect(sessionOf(other.token)).rejects.toMatchObject({ reason: 'session_unknown' });
    const rename = UpdateProfileRequest.fromPartial({ sessionId: other.session!.id, name: 'Eve', updateMask: ['name'] });
    await expect(auth.users.updateProfile(rename, operator)).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('are signed out after a month even where a session may be unused for longer', async () => {
    const { sessionIdleMs } = auth.config;
    auth.config.sessionIdleMs = 60 * 86_400_000;
    try {
      await add('monthly@example.com');
      const { token } = await signIn('monthly@example.com');
      auth.clock.advance(30 * 86_400_000);
      await expect(sessionOf(token)).rejects.toMatchObject({ reason: 'session_unknown' });
    } finally {
      auth.config.sessionIdleMs = sessionIdleMs;
    }
  });

  it('stay signed in while they use a session, however short it lasts without use', async () => {
    const { sessionIdleMs } = auth.config;
    auth.config.sessionIdleMs = 60_000;
    try {
      await add('busy@example.com');
      const { token } = await signIn('busy@example.com');
      for (let seconds = 0; seconds < 300; seconds += 20) {
        auth.clock.advance(20_000);
        await sessionOf(token);
      }
      auth.clock.advance(60_000);
      await expect(sessionOf(token)).rejects.toMatchObject({ reason: 'session_unknown' });
    } finally {
      auth.config.sessionIdleMs = sessionIdleMs;
    }
  });

  it('change their password only with the current one, which ends their other sessions', async () => {
    await add('change@example.com');
    const [here, elsewhere] = [await signIn('change@example.com'), await signIn('change@example.com')];
    const set = (currentPassword: string) =>
      auth.users.setPassword({ sessionId: here.session!.id, currentPassword, newPassword: 'another good phrase' }, operator);
    await expect(set('wrong guess')).rejects.toMatchObject({ reason: 'sign_in_refused' });
    const { token: link } = await auth.users.createSignInLink({ email: 'change@example.com', sendMail: false, language: '' }, operator);
    await set(password);
    await expect(auth.users.redeemSignInLink({ token: link, client: newClient() }, operator)).rejects.toMatchObject({
      reason: 'sign_in_refused',
    });
    await sessionOf(here.token);
    await expect(sessionOf(elsewhere.token)).rejects.toMatchObject({ reason: 'session_unknown' });
    await expect(signIn('change@example.com')).rejects.toMatchObject({ reason: 'sign_in_refused' });
    await signIn('change@example.com', 'another good phrase');
  });

  it('sign in with their latest link, once, and may then set a password', async () => {
    const user = await add('link@example.com', { password: '' });
    expect(user.hasPassword).toBe(false);
    const link = async (): Promise<string> =>
      (await auth.users.createSignInLink({ email: user.email, sendMail: false, language: '' }, operator)).token;
    const redeem = async (token: string): Promise<SignedIn> =>
      (await auth.users.redeemSignInLink({ token, client: newClient() }, operator)).signedIn!;
    const [old, fresh] = [await link(), await link()];
    await expect(redeem(old)).rejects.toMatchObject({ reason: 'sign_in_refused' });
    const uses = await Promise.allSettled([redeem(fresh), redeem(fresh), redeem(fresh)]);
    const [used] = uses.flatMap((use) => (use.status === 'fulfilled' ? [use.value] : []));
    expect(uses.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await auth.users.setPassword({ sessionId: used!.session!.id, currentPassword: '', newPassword: password }, operator);
    await signIn('link@example.com');
    const late = await link();
    auth.clock.advance(15 * 60_000);
    await expect(redeem(late)).rejects.toMatchObject({ reason: 'sign_in_refused' });
  });

  it('cannot sign in with a link that was created for a former address', async () => {
    const { id: userId } = await add('mistyped@example.com');
    const link = async (email: string): Promise<string> =>
      (await auth.users.createSignInLink({ email, sendMail: false, language: '' }, operator)).token;
    const redeem = (token: string) => auth.users.redeemSignInLink({ token, client: newClient() }, operator);
    const mistyped = await link('mistyped@example.com');
    await auth.users.updateUser(UpdateUserRequest.fromPartial({ userId, email: 'right@example.com', updateMask: ['email'] }), operator);
    await expect(redeem(mistyped)).rejects.toMatchObject({ reason: 'sign_in_refused' });

    const { session } = await signIn('right@example.com');
    const former = await link('right@example.com');
    const change = { sessionId: session!.id, currentPassword: password };
    await auth.users.updateProfile(UpdateProfileRequest.fromPartial({ ...change, name: 'Ada', updateMask: ['name'] }), operator);
    await auth.users.updateProfile(
      UpdateProfileRequest.fromPartial({ ...change, email: 'new@example.com', updateMask: ['email'] }),
      operator,
    );
    await expect(redeem(former)).rejects.toMatchObject({ reason: 'sign_in_refused' });
    expect(await redeem(await link('new@example.com'))).toMatchObject({ signedIn: { user: { id: userId } } });

    let late: Promise<string> | undefined;
    await auth.db.transaction(async (tx) => {
      await tx('person').where({ email: 'new@example.com' }).update({ email: 'newest@example.com' });
      late = link('new@example.com');
      late.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 100));
    });
    await expect(late).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('without a password change how they sign in only shortly after an authentication', async () => {
    const { email } = await add('none@example.com', { password: '' });
    const enter = async (): Promise<string> => {
      const { token } = await auth.users.createSignInLink({ email, sendMail: false, language: '' }, operator);
      return (await auth.users.redeemSignInLink({ token, client: newClient() }, operator)).signedIn!.session!.id;
    };
    const changes = (sessionId: string) => [
      () => auth.users.confirmPassword({ sessionId, currentPassword: '' }, operator),
      () =>
        auth.users.updateProfile(
          UpdateProfileRequest.fromPartial({ sessionId, email: 'some@example.com', updateMask: ['email'] }),
          operator,
        ),
      () => auth.users.setPassword({ sessionId, currentPassword: '', newPassword: password }, operator),
    ];
    const stale = await enter();
    auth.clock.advance(15 * 60_000 + 1);
    for (const change of changes(stale))
      await expect(change()).rejects.toMatchObject({ reason: 'failed_precondition', details: { rule: 'reauthenticate' } });
    await auth.users.updateProfile(UpdateProfileRequest.fromPartial({ sessionId: stale, name: 'Ada', updateMask: ['name'] }), operator);
    for (const change of changes(await enter())) await change();
  });

  it('are signed out immediately when they are disabled', async () => {
    const user = await add('gone@example.com');
    const { token } = await signIn('gone@example.com');
    const { token: link } = await auth.users.createSignInLink({ email: user.email, sendMail: false, language: '' }, operator);
    await auth.users.updateUser(
      UpdateUserRequest.fromPartial({ userId: user.id, isDisabled: true, updateMask: ['is_disabled'] }),
      operator,
    );
    await expect(sessionOf(token)).rejects.toMatchObject({ reason: 'session_unknown' });
    await expect(signIn('gone@example.com')).rejects.toMatchObject({ reason: 'sign_in_refused' });
    await auth.users.updateUser(UpdateUserRequest.fromPartial({ userId: user.id, updateMask: ['is_disabled'] }), operator);
    // The session and the link stay ended.
    await expect(sessionOf(token)).rejects.toMatchObject({ reason: 'session_unknown' });
    await expect(auth.users.redeemSignInLink({ token: link, client: newClient() }, operator)).rejects.toMatchObject({
      reason: 'sign_in_refused',
    });
    await signIn('gone@example.com');
  });

  it('cannot use a session that still exists once they are disabled', async () => {
    const user = await add('flagged@example.com');
    const { token } = await signIn('flagged@example.com');
    await sessionOf(token);
    await auth.db.knex('person').where({ email: user.email }).update({ is_disabled: 1 });
    await expect(sessionOf(token)).rejects.toMatchObject({ reason: 'session_unknown' });
  });

  it('have roles in accounts, and an account always keeps an owner', async () => {
    const [owner, other] = [await add('owner@example.com'), await add('other@example.com')];
    const put = (user: User, role: Role) => auth.users.putMember({ accountId: account.id, userId: user.id, role }, operator);
    await expect(put(other, Role.ROLE_VIEWER)).rejects.toMatchObject({ reason: 'failed_precondition' });
    await put(owner, Role.ROLE_OWNER);
    await put(other, Role.ROLE_VIEWER);
    expect((await put(other, Role.ROLE_DEVELOPER)).member).toMatchObject({ user: other, role: Role.ROLE_DEVELOPER });
    expect((await sessionOf((await signIn('other@example.com')).token)).memberships).toMatchObject([
      { account: { id: account.id }, role: Role.ROLE_DEVELOPER },
    ]);
    await expect(put(owner, Role.ROLE_ADMIN)).rejects.toMatchObject({ reason: 'failed_precondition' });
    await expect(auth.users.deleteMember({ accountId: account.id, userId: owner.id }, operator)).rejects.toMatchObject({
      reason: 'failed_precondition',
    });
    await put(other, Role.ROLE_OWNER);
    const removals = await Promise.allSettled(
      [owner, other].map((user) => auth.users.deleteMember({ accountId: account.id, userId: user.id }, operator)),
    );
    expect(removals.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await auth.users.listMembers({ accountId: account.id }, operator)).members).toHaveLength(1);
  });

  it('are all listed, and the last of many members can be changed', async () => {
    const [{ id: accountId }, last] = [await newAccount(auth.service), await add('last@example.com')];
    const row = (await auth.db.knex('person').where({ email: last.email }).first())!;
    const ids = Array.from({ length: 1000 }, () => newId('user'));
    const people = ids.map((id) => ({ ...row, id: idToBytes('user', id), email: `${id}@example.com` }));
    const roles = { account_id: idToBytes('acct', accountId), role: Role.ROLE_OWNER, project_roles: '{}', since_ms: 1 };
    await auth.db.knex.batchInsert('person', people, 100);
    await auth.db.knex.batchInsert(
      'member',
      people.map(({ id }) => ({ ...roles, user_id: id })),
      100,
    );
    const { member } = await auth.users.putMember({ accountId, userId: last.id, role: Role.ROLE_VIEWER }, operator);
    expect(member).toMatchObject({ user: last, role: Role.ROLE_VIEWER });
    expect((await auth.users.listMembers({ accountId }, operator)).members).toHaveLength(1001);
  });

  it('are invited by address and accept once, as new or existing users', async () => {
    const home = await newAccount(auth.service, 'Home');
    const host = await add('host@example.com');
    await auth.users.putMember({ accountId: home.id, userId: host.id, role: Role.ROLE_OWNER }, operator);
    const invite = async (email: string): Promise<string> =>
      (
        await auth.users.createInvitation(
          { accountId: home.id, email, role: Role.ROLE_BILLING, invitedByUserId: host.id, projectRoles: [], language: '' },
          operator,
        )
      ).token;
    const accept = (token: string, secret = password) =>
      auth.users.acceptInvitation({ token, name: 'New', password: secret, client: newClient(), sessionId: '' }, operator);

    const [superseded, token] = [await invite('new@example.com'), await invite('new@example.com')];
    await expect(accept(superseded)).rejects.toMatchObject({ reason: 'not_found' });
    expect(await auth.users.getInvitation({ token }, operator)).toMatchObject({
      invitation: { accountName: 'Home', email: 'new@example.com' },
    });
    const { signedIn } = await accept(token);
    expect((await sessionOf(signedIn!.token)).memberships).toMatchObject([{ account: { id: home.id }, role: Role.ROLE_BILLING }]);
    await expect(accept(token)).rejects.toMatchObject({ reason: 'not_found' });

    await expect(invite('host@example.com')).rejects.toMatchObject({ reason: 'already_exists', details: { field: 'email' } });

    await add('friend@example.com');
    const friend = await invite('friend@example.com');
    await expect(accept(friend, 'wrong guess')).rejects.toMatchObject({ reason: 'sign_in_refused' });
    // The same for an address that no user has, or the link would tell the inviter who has an account.
    const stranger = await invite('stranger@example.com');
    for (const token of [friend, stranger]) {
      expect(Object.keys(await auth.users.getInvitation({ token }, operator))).toEqual(['invitation']);
      const asKnown = { token, name: '', password: 'wrong guess', client: newClient(), sessionId: '' };
      await expect(auth.users.acceptInvitation(asKnown, operator)).rejects.toMatchObject({ reason: 'sign_in_refused' });
      await expect(accept(token, 'short')).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'password' } });
    }
    const before = (await auth.users.listUsers({ email: 'friend@example.com', search: '', pageSize: 0, pageToken: '' }, operator))
      .users[0]!;
    await auth.users.putMember({ accountId: home.id, userId: before.id, role: Role.ROLE_ADMIN }, operator);
    // Accepting an earlier invitation does not lower the role of a user who has become a member since.
    await accept(friend);
    expect(
      (await auth.users.listMembers({ accountId: home.id }, operator)).members.find(({ user: each }) => each!.id === before.id)!.role,
    ).toBe(Role.ROLE_ADMIN);
    await accept(stranger);
    const revoked = await invite('late@example.com');
    const { invitations } = await auth.users.listInvitations({ accountId: home.id }, operator);
    expect(invitations.map(({ email }) => email)).toEqual(['late@example.com']);
    await auth.users.revokeInvitation({ accountId: home.id, invitationId: invitations[0]!.id }, operator);
    await expect(accept(revoked)).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('cannot accept an invitation that has expired', async () => {
    const host = await add('patient@example.com');
    const { token, invitation } = await auth.users.createInvitation(
      {
        accountId: account.id,
        email: 'late.guest@example.com',
        role: Role.ROLE_OWNER,
        invitedByUserId: host.id,
        projectRoles: [],
        language: '',
      },
      operator,
    );
    auth.clock.advance(Number(invitation!.expiresAtMs) - auth.clock.nowMs());
    await expect(auth.users.getInvitation({ token }, operator)).rejects.toMatchObject({ reason: 'not_found' });
    const request = { token, name: 'Late', password, client: newClient(), sessionId: '' };
    await expect(auth.users.acceptInvitation(request, operator)).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('do not become members and use up no invitation while they are disabled', async () => {
    const [host, user] = [await add('host2@example.com'), await add('disabled@example.com')];
    const { token } = await auth.users.createInvitation(
      { accountId: account.id, email: user.email, role: Role.ROLE_ADMIN, invitedByUserId: host.id, projectRoles: [], language: '' },
      operator,
    );
    const setDisabled = (isDisabled: boolean) =>
      auth.users.updateUser(UpdateUserRequest.fromPartial({ userId: user.id, isDisabled, updateMask: ['is_disabled'] }), operator);
    const accept = () => auth.users.acceptInvitation({ token, name: '', password, client: newClient(), sessionId: '' }, operator);
    await setDisabled(true);
    await expect(accept()).rejects.toMatchObject({ reason: 'sign_in_refused' });
    const { members } = await auth.users.listMembers({ accountId: account.id }, operator);
    expect(members.map((member) => member.user!.email)).not.toContain(user.email);
    await setDisabled(false);
    expect((await sessionOf((await accept()).signedIn!.token)).memberships).toMatchObject([{ role: Role.ROLE_ADMIN }]);
  });

  it('keep the role that they are given while they accept an invitation', async () => {
    const { id: accountId } = await newAccount(auth.service, 'Racing');
    const [keeper, user] = [await add('racing@example.com'), await add('promoted@example.com')];
    await auth.users.putMember({ accountId, userId: keeper.id, role: Role.ROLE_OWNER }, operator);
    const { token } = await auth.users.createInvitation(
      { accountId, email: user.email, role: Role.ROLE_VIEWER, invitedByUserId: keeper.id, projectRoles: [], language: '' },
      operator,
    );
    let accepting: Promise<unknown> | undefined;
    await auth.db.transaction(async (tx) => {
      const [account, promoted] = [idToBytes('acct', accountId)!, idToBytes('user', user.id)!];
      await new MemberStore(auth.db).put(tx, account, { userId: promoted, role: Role.ROLE_OWNER, nowMs: auth.clock.nowMs() });
      accepting = auth.users.acceptInvitation({ token, name: '', password, client: newClient(), sessionId: '' }, operator);
      // Longer than checking the password takes, so that it has found out whether the user is a member if it does so before the commit.
      await new Promise((resolve) => setTimeout(resolve, 1000));
    });
    await accepting;
    const { members } = await auth.users.listMembers({ accountId }, operator);
    expect(members.map(({ user: member, role }) => [member!.email, role]).toSorted()).toEqual([
      ['promoted@example.com', Role.ROLE_OWNER],
      ['racing@example.com', Role.ROLE_OWNER],
    ]);
  });

  it('lose the invitations with which they could return or regain a role', async () => {
    const firm = await newAccount(auth.service, 'Firm');
    const [keeper, leaver] = [await add('keeper@example.com'), await add('leaver@example.com')];
    const put = (userId: string, role: Role) => auth.users.putMember({ accountId: firm.id, userId, role }, operator);
    await put(keeper.id, Role.ROLE_OWNER);
    const invite = async (by: string, email: string, role: Role): Promise<string> =>
      (
        await auth.users.createInvitation(
          { accountId: firm.id, email, role, invitedByUserId: by, projectRoles: [], language: '' },
          operator,
        )
      ).token;
    const open = async () =>
      (await auth.users.listInvitations({ accountId: firm.id }, operator)).invitations.map(({ email }) => email).sort();
    await invite(keeper.id, 'kept@example.com', Role.ROLE_OWNER);

    await put(leaver.id, Role.ROLE_OWNER);
    await invite(leaver.id, 'alias1@example.com', Role.ROLE_OWNER);
    await invite(leaver.id, 'alias2@example.com', Role.ROLE_ADMIN);
    await put(leaver.id, Role.ROLE_ADMIN);
    expect(await open()).toEqual(['alias2@example.com', 'kept@example.com']);
    await put(leaver.id, Role.ROLE_VIEWER);
    expect(await open()).toEqual(['kept@example.com']);
    await put(leaver.id, Role.ROLE_ADMIN);
    const token = await invite(leaver.id, 'alias3@example.com', Role.ROLE_ADMIN);
    await auth.users.deleteMember({ accountId: firm.id, userId: leaver.id }, operator);
    await expect(
      auth.users.acceptInvitation({ token, name: 'Back', password, client: newClient(), sessionId: '' }, operator),
    ).rejects.toMatchObject({ reason: 'not_found' });
    expect(await open()).toEqual(['kept@example.com']);
  });

  it('lose the invitations that they could no longer create, once they are disabled or no operators', async () => {
    const [theirs, others] = [await newAccount(auth.service, 'Theirs'), await newAccount(auth.service, 'Others')];
    const host = await add('leaving@example.com', { isOperator: true });
    await auth.users.putMember({ accountId: theirs.id, userId: host.id, role: Role.ROLE_OWNER }, operator);
    const role = Role.ROLE_ADMIN;
    for (const { id: accountId } of [theirs, others])
      await auth.users.createInvitation(
        { accountId, email: 'alias@example.com', role, invitedByUserId: host.id, projectRoles: [], language: '' },
        operator,
      );
    const open = async () => {
      const lists = [theirs, others].map(({ id: accountId }) => auth.users.listInvitations({ accountId }, operator));
      return (await Promise.all(lists)).map(({ invitations }) => invitations.length);
    };
    const change = (fields: { isOperator: false } | { isDisabled: true }) =>
      auth.users.updateUser(UpdateUserRequest.fromPartial({ userId: host.id, ...fields, updateMask: maskOf(fields) }), operator);
    expect(await open()).toEqual([1, 1]);
    await change({ isOperator: false });
    expect(await open()).toEqual([1, 0]);
    await change({ isDisabled: true });
    expect(await open()).toEqual([0, 0]);
  });

  it('have their changes in the audit log, newest first, in pages', async () => {
    for (let number = 0; number < 5; number += 1) {
      auth.clock.advance(1);
      await newKey(auth.service, account, { name: `key ${number}` });
    }
    const page = (pageToken: string) =>
      auth.users.listAuditEvents(
        ListAuditEventsRequest.fromPartial({ accountId: account.id, action: 'key', pageSize: 3, pageToken }),
        operator,
      );
    const nameOf = ({ detailJson }: AuditEvent): unknown => (JSON.parse(detailJson) as { name: unknown }).name;
    const first = await page('');
    expect(first.events.map(nameOf)).toEqual(['key 4', 'key 3', 'key 2']);
    const second = await page(first.nextPageToken);
    expect([second.events.map(nameOf), second.nextPageToken]).toEqual([['key 1', 'key 0'], '']);
  });

  it('have no password or token stored or logged', async () => {
    const secrets: string[] = [password];
    await add('secret@example.com');
    const { token } = await signIn('secret@example.com');
    const link = (await auth.users.createSignInLink({ email: 'secret@example.com', sendMail: false, language: '' }, operator)).token;
    secrets.push(token, link);
    const content: string[] = [...auth.logLines];
    for (const table of ['person', 'session', 'sign_in_link', 'sign_in_failure', 'invitation', 'audit_entry']) {
      const rows: Record<string, unknown>[] = await auth.db.knex(table).select();
      for (const value of rows.flatMap((row) => Object.values(row)))
        content.push(Buffer.isBuffer(value) ? value.toString('latin1') : String(value));
    }
    for (const secret of secrets) expect(content.join('\n')).not.toContain(secret);
  });
});
