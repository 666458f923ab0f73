// Sign-up, identities at providers, and how users change their profile.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import {
  CreateUserRequest,
  Role,
  SignUpRequest,
  type SignedIn,
  UpdateProfileRequest,
  UpdateUserRequest,
  type User,
} from '#proto/auth/v1/users.js';
import type { CallContext } from '#client/call-context.js';
import type { IdentityClaims } from './oidc/identity-claims.js';
import { actingAs, identityResponse, newAccount, newClient, operator, password, startTestAuth, type TestAuth } from '../testing/auth.js';
import { isPassword, underWayMax } from './passwords/password.js';
import { recentMs } from './second-factor/recent.js';
import { identitiesMax } from './store/identities.js';
import { attemptsMax, failureWindowMs } from './passwords/throttle.js';
import { maskOf } from '../testing/mask-of.js';

// Hashing a password takes a core a fifth of a second, and longer when the core is shared.
jest.setTimeout(60_000);
const issuer = 'https://id.example.com';

describe.each(testEngines)('users who sign up on %s', (engine) => {
  let auth: TestAuth;
  let subjects = 0;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
  });
  afterAll(() => auth.stop());

  const add = async (email: string): Promise<User> =>
    (await auth.users.createUser(CreateUserRequest.fromPartial({ email, name: 'Ada', password }), operator)).user!;
  const signIn = async (email: string): Promise<SignedIn> =>
    (await auth.users.signIn({ email, password, client: newClient() }, operator)).signedIn!;
  const signUp = (email: string, fields: Partial<SignUpRequest> = {}) =>
    auth.users.signUp(
      SignUpRequest.fromPartial({ email, name: 'Eve', password, accountName: 'Eve’s', client: newClient(), ...fields }),
      operator,
    );
  const sessionOf = (token: string) => auth.users.getSession({ token, clientAddress: '', accountId: '' }, operator);
  const claims = (email: string, fields: Partial<IdentityClaims> = {}): IdentityClaims => ({
    issuer,
    subject: `subject ${(subjects += 1)}`,
    email,
    emailVerified: true,
    name: 'Grace',
    authenticatedAtMs: auth.clock.nowMs(),
    ...fields,
  });
  const byIdentity = async (given: IdentityClaims, maySignUp = false) => {
    auth.config.signUp = maySignUp;
    try {
      return await auth.users.signInWithIdentity({ response: identityResponse(given), client: newClient() }, operator);
    } finally {
      auth.config.signUp = true;
    }
  };
  const refused = (why: string) => expect.objectContaining({ reason: 'sign_in_refused', details: expect.objectContaining({ why }) });

  it('get an account of their own, once per address', async () => {
    const { signedIn, account } = await signUp('Eve@Example.com');
    expect(signedIn!.user).toMatchObject({ email: 'eve@example.com', isOperator: false, emailVerified: false });
    expect((await sessionOf(signedIn!.token)).memberships).toMatchObject([
      { account: { id: account!.id, name: 'Eve’s' }, role: Role.ROLE_OWNER },
    ]);
    const accounts = async () =>
      (
        await auth.service.listAccounts(
          { pageSize: 0, pageToken: '', search: '', state: 0, newestFirst: false, withKeyCounts: false },
          operator,
        )
      ).accounts.length;
    const before = await accounts();
    await expect(signUp('EVE@example.com')).rejects.toMatchObject({ reason: 'already_exists', details: { field: 'email' } });
    expect(await accounts()).toBe(before);
    await expect(signUp('x@example.com', { accountName: ' ' })).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field: 'account_name' },
    });
    await expect(signUp('x@example.com', { password: 'short' })).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field: 'password' },
    });
  });

  it('cannot sign up where sign-up is disabled', async () => {
    auth.config.signUp = false;
    await expect(signUp('closed@example.com')).rejects.toMatchObject({ reason: 'not_found' });
    auth.config.signUp = true;
  });

  it('are limited per network, which for IPv6 is a /64', async () => {
    const from = (number: number): Partial<SignUpRequest> => ({ client: { address: `2001:db8:7:7::${number}`, userAgent: '' } });
    for (let attempt = 1; attempt <= attemptsMax.signUp; attempt += 1)
      await signUp('eve@example.com', from(attempt)).catch(() => undefined);
    await expect(signUp('fresh@example.com', from(99))).rejects.toMatchObject({
      reason: 'sign_in_throttled',
      retryAfterMs: failureWindowMs,
    });
    auth.clock.advance(failureWindowMs);
    await signUp('fresh@example.com', from(99));
  });

  it('lose no attempt when too many passwords are being hashed', async () => {
    const from: Partial<SignUpRequest> = { client: newClient() };
    let isBusy = true;
    const hashing = Array.from({ length: underWayMax }, async (_, network) => {
      while (isBusy) await isPassword(password, undefined, `192.0.2.${network}`);
    });
    try {
      for (let attempt = 1; attempt <= attemptsMax.signUp; attempt += 1)
        await expect(signUp('patient@example.com', from)).rejects.toMatchObject({ reason: 'overloaded' });
    } finally {
      isBusy = false;
      await Promise.all(hashing);
    }
    await signUp('patient@example.com', from);
  });

  it('sign in with the same identity again, even after its address has changed', async () => {
    const given = claims('ida@example.com');
    await expect(byIdentity(given)).rejects.toEqual(refused('unknown_user'));
    const first = await byIdentity(given, true);
    expect(first).toMatchObject({
      isNew: true,
      signedIn: { user: { email: 'ida@example.com', name: 'Grace', hasPassword: false, emailVerified: true } },
    });
    expect((await sessionOf(first.signedIn!.token)).memberships).toMatchObject([{ account: { name: 'Grace' }, role: Role.ROLE_OWNER }]);
    const again = await byIdentity({ ...given, email: 'other@example.com', emailVerified: false });
    expect([again.isNew, again.signedIn!.user!.id]).toEqual([false, first.signedIn!.user!.id]);
    await auth.users.updateUser(
      UpdateUserRequest.fromPartial({ userId: again.signedIn!.user!.id, isDisabled: true, updateMask: ['is_disabled'] }),
      operator,
    );
    await expect(byIdentity(given, true)).rejects.toEqual(refused('disabled'));
  });

  it('are different users when two providers use the same subject', async () => {
    const [here, there] = [
      claims('here@example.com', { subject: 'same' }),
      claims('there@example.com', { subject: 'same', issuer: 'https://other.example.com' }),
    ];
    const [one, two] = [await byIdentity(here, true), await byIdentity(there, true)];
    expect(one.signedIn!.user!.id).not.toBe(two.signedIn!.user!.id);
  });

  it('are found by a verified address that the operator entered', async () => {
    const user = await add('vouched@example.com');
    await expect(byIdentity(claims('vouched@example.com', { emailVerified: false }), true)).rejects.toEqual(refused('email_unverified'));
    const given = claims('VOUCHED@example.com');
    expect((await byIdentity(given)).signedIn!.user!.id).toBe(user.id);
    expect((await byIdentity({ ...given, email: '' })).signedIn!.user!.id).toBe(user.id);
    // The provider may have given the address to another user since.
    await expect(byIdentity(claims('vouched@example.com'), true)).rejects.toEqual(refused('email_taken'));
    const gone = await add('gone@example.com');
    await auth.users.updateUser(
      UpdateUserRequest.fromPartial({ userId: gone.id, isDisabled: true, updateMask: ['is_disabled'] }),
      operator,
    );
    await expect(byIdentity(claims('gone@example.com'), true)).rejects.toEqual(refused('disabled'));
  });

  it('are not signed in to a user who only claimed their address, by sign-up, by a change, or by their own invitation', async () => {
    await signUp('victim1@example.com');
    const { session, user: mallory } = await signIn((await add('mallory@example.com')).email);
    await auth.users.updateProfile(
      UpdateProfileRequest.fromPartial({
        sessionId: session!.id,
        email: 'victim2@example.com',
        currentPassword: password,
        updateMask: ['email'],
      }),
      operator,
    );
    const account = await newAccount(auth.service, 'Mallory’s');
    await auth.users.putMember({ accountId: account.id, userId: mallory!.id, role: Role.ROLE_OWNER }, operator);
    const { token } = await auth.users.createInvitation(
      {
        accountId: account.id,
        email: 'victim3@example.com',
        role: Role.ROLE_VIEWER,
        invitedByUserId: mallory!.id,
        projectRoles: [],
        language: '',
      },
      operator,
    );
    await auth.users.acceptInvitation({ token, name: 'Not the victim', password, client: newClient(), sessionId: '' }, operator);
    for (const number of [1, 2, 3])
      await expect(byIdentity(claims(`victim${number}@example.com`), true)).rejects.toEqual(refused('email_taken'));
  });

  it('take over their claimed address with a link and a new password, which locks out the user who claimed it', async () => {
    const mallorys = claims('mallory@elsewhere.example.com');
    const { signedIn } = await signUp('victim4@example.com');
    await auth.users.connectIdentity({ sessionId: signedIn!.session!.id, response: identityResponse(mallorys) }, operator);
    const { token } = await auth.users.createSignInLink({ email: 'victim4@example.com', sendMail: false, language: '' }, operator);
    const { session } = (await auth.users.redeemSignInLink({ token, client: newClient() }, operator)).signedIn!;
    await auth.users.setPassword({ sessionId: session!.id, currentPassword: '', newPassword: 'a phrase of the victim' }, operator);
    await expect(sessionOf(signedIn!.token)).rejects.toMatchObject({ reason: 'session_unknown' });
    await expect(signIn('victim4@example.com')).rejects.toMatchObject({ reason: 'sign_in_refused' });
    await expect(byIdentity(mallorys)).rejects.toEqual(refused('unknown_user'));
    // A user whose address was always verified keeps their identities.
    const owner = claims('owner@example.com');
    await byIdentity(owner, true);
    const link = await auth.users.createSignInLink({ email: 'owner@example.com', sendMail: false, language: '' }, operator);
    const own = (await auth.users.redeemSignInLink({ token: link.token, client: newClient() }, operator)).signedIn!;
    await auth.users.setPassword({ sessionId: own.session!.id, currentPassword: '', newPassword: password }, operator);
    expect((await byIdentity(owner)).signedIn!.user!.id).toBe(own.user!.id);
  });

  it('keep their identities when they change the password themselves, even with an unverified address', async () => {
    const identity = claims('unverified@elsewhere.example.com');
    const { signedIn } = await signUp('unverified@example.com');
    const { id: sessionId } = signedIn!.session!;
    await auth.users.connectIdentity({ sessionId, response: identityResponse(identity) }, operator);
    await auth.users.setPassword({ sessionId, currentPassword: password, newPassword: `${password} 2` }, operator);
    expect((await byIdentity(identity)).signedIn!.user!.id).toBe(signedIn!.user!.id);
  });

  it('have a verified address when the operator invited them or entered the address', async () => {
    const boss = (
      await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'boss@example.com', name: 'Boss', isOperator: true }), operator)
    ).user!;
    const account = await newAccount(auth.service, 'Firm');
    await auth.users.putMember({ accountId: account.id, userId: boss.id, role: Role.ROLE_OWNER }, operator);
    const { token } = await auth.users.createInvitation(
      {
        accountId: account.id,
        email: 'hired@example.com',
        role: Role.ROLE_VIEWER,
        invitedByUserId: boss.id,
        projectRoles: [],
        language: '',
      },
      operator,
    );
    const { signedIn } = await auth.users.acceptInvitation(
      { token, name: 'Hired', password, client: newClient(), sessionId: '' },
      operator,
    );
    expect((await byIdentity(claims('hired@example.com'))).signedIn!.user!.id).toBe(signedIn!.user!.id);
    await signUp('claimed@example.com');
    const { users } = await auth.users.listUsers({ email: 'claimed@example.com', pageSize: 0, pageToken: '', search: '' }, operator);
    await auth.users.updateUser(
      UpdateUserRequest.fromPartial({ userId: users[0]!.id, email: 'claimed@example.com', updateMask: ['email'] }),
      operator,
    );
    expect((await byIdentity(claims('claimed@example.com'))).signedIn!.user!.id).toBe(users[0]!.id);
  });

  it('accept an invitation with their session when they have no password', async () => {
    const host = await add('inviter@example.com');
    const account = await newAccount(auth.service, 'Club');
    await auth.users.putMember({ accountId: account.id, userId: host.id, role: Role.ROLE_OWNER }, operator);
    const { signedIn } = await byIdentity(claims('guest@example.com'), true);
    const { signedIn: stranger } = await byIdentity(claims('stranger@example.com'), true);
    const { token } = await auth.users.createInvitation(
      {
        accountId: account.id,
        email: 'guest@example.com',
        role: Role.ROLE_BILLING,
        invitedByUserId: host.id,
        projectRoles: [],
        language: '',
      },
      operator,
    );
    const accept = ({ session }: SignedIn, context: CallContext) =>
      auth.users.acceptInvitation({ token, name: '', password: '', client: newClient(), sessionId: session!.id }, context);
    await expect(accept(stranger!, actingAs(stranger!))).rejects.toMatchObject({ reason: 'sign_in_refused' });
    // A session id is not secret: it is accepted only with the actor token of its user.
    await expect(accept(signedIn!, operator)).rejects.toMatchObject({ reason: 'sign_in_refused' });
    await expect(accept(signedIn!, actingAs(stranger!))).rejects.toMatchObject({ reason: 'sign_in_refused' });
    auth.clock.advance(1);
    const accepted = (await accept(signedIn!, actingAs(signedIn!))).signedIn!;
    expect((await sessionOf(accepted.token)).memberships).toMatchObject([
      { account: { name: 'Grace' } },
      { account: { name: 'Club' }, role: Role.ROLE_BILLING },
    ]);
  });

  it('connect and disconnect identities, but cannot remove their only way to sign in', async () => {
    const { session, user } = await signIn((await add('connect@example.com')).email);
    const given = claims('elsewhere@example.com');
    const connect = (sessionId: string) => auth.users.connectIdentity({ sessionId, response: identityResponse(given) }, operator);
    const { identity } = await connect(session!.id);
    expect((await connect(session!.id)).identity).toEqual(identity);
    expect((await byIdentity(given)).signedIn!.user!.id).toBe(user!.id);
    const other = await byIdentity(claims('another@example.com'), true);
    await expect(connect(other.signedIn!.session!.id)).rejects.toMatchObject({ reason: 'already_exists' });
    const disconnect = (sessionId: string, identityId: string) => auth.users.disconnectIdentity({ sessionId, identityId }, operator);
    const otherSession = other.signedIn!.session!.id;
    await expect(disconnect(otherSession, identity!.id)).rejects.toMatchObject({ reason: 'not_found' });
    await disconnect(session!.id, identity!.id);
    await expect(byIdentity(given)).rejects.toEqual(refused('unknown_user'));
    const [only] = (await auth.users.listIdentities({ userId: other.signedIn!.user!.id }, operator)).identities;
    await expect(disconnect(otherSession, only!.id)).rejects.toMatchObject({
      reason: 'failed_precondition',
      details: { rule: 'only_sign_in' },
    });
  });

  it('get the same identity from a repeat, even if they have others of the provider and the maximum number of identities', async () => {
    const { session } = await signIn((await add('collector@example.com')).email);
    const connect = async (given: IdentityClaims) =>
      (await auth.users.connectIdentity({ sessionId: session!.id, response: identityResponse(given) }, operator)).identity;
    for (let number = 1; number < identitiesMax; number += 1) await connect(claims('earlier@example.com'));
    const given = claims('latest@example.com');
    const last = await connect(given);
    expect(last).toMatchObject({ email: 'latest@example.com' });
    expect(await connect(given)).toEqual(last);
    await expect(connect(claims('more@example.com'))).rejects.toMatchObject({
      reason: 'failed_precondition',
      details: { rule: 'identities_full' },
    });
  });

  it('keep one of their last two identities when they disconnect both at once', async () => {
    const { user, session } = (await byIdentity(claims('two@example.com'), true)).signedIn!;
    await auth.users.connectIdentity({ sessionId: session!.id, response: identityResponse(claims('two.more@example.com')) }, operator);
    const listed = async () => (await auth.users.listIdentities({ userId: user!.id }, operator)).identities;
    const outcomes = await Promise.allSettled(
      (await listed()).map(({ id }) => auth.users.disconnectIdentity({ sessionId: session!.id, identityId: id }, operator)),
    );
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await listed()).toHaveLength(1);
  });

  it('connect and disconnect identities only shortly after they have entered their password, or signed in if they have none', async () => {
    const { session } = await signIn((await add('unattended@example.com')).email);
    const identity = claims('passwordless@example.com');
    const { signedIn: without } = await byIdentity(identity, true);
    const connect = (sessionId: string) =>
      auth.users.connectIdentity({ sessionId, response: identityResponse(claims('mallory@example.com')) }, operator);
    auth.clock.advance(recentMs + 1);
    const tooLate = { reason: 'failed_precondition', details: { rule: 'reauthenticate' } };
    await expect(connect(session!.id)).rejects.toMatchObject(tooLate);
    await auth.users.confirmPassword({ sessionId: session!.id, currentPassword: password }, operator);
    const connected = await connect(session!.id);
    await expect(connect(without!.session!.id)).rejects.toMatchObject(tooLate);
    const { signedIn: again } = await byIdentity({ ...identity, authenticatedAtMs: auth.clock.nowMs() });
    await connect(again!.session!.id);
    const disconnect = () => auth.users.disconnectIdentity({ sessionId: session!.id, identityId: connected.identity!.id }, operator);
    auth.clock.advance(recentMs + 1);
    await expect(disconnect()).rejects.toMatchObject(tooLate);
    await auth.users.confirmPassword({ sessionId: session!.id, currentPassword: password }, operator);
    await disconnect();
  });

  it('are authenticated again by their identity only, and when the provider says that it authenticated them', async () => {
    const identity = claims('again@example.com');
    const { session } = (await byIdentity(identity, true)).signedIn!;
    const connect = () =>
      auth.users.connectIdentity({ sessionId: session!.id, response: identityResponse(claims('again.more@example.com')) }, operator);
    const prove = (given: IdentityClaims) => {
      const by = { $case: 'identity', value: identityResponse(given) } as const;
      return auth.users.reauthenticate({ sessionId: session!.id, by }, operator);
    };
    auth.clock.advance(recentMs + 1);
    const nowMs = auth.clock.nowMs();
    await expect(prove(identity)).rejects.toEqual(refused('not_reauthenticated'));
    await expect(prove({ ...identity, authenticatedAtMs: undefined })).rejects.toEqual(refused('auth_time_missing'));
    await expect(prove(claims('again@example.com'))).rejects.toEqual(refused('identity_other'));
    await expect(connect()).rejects.toMatchObject({ details: { rule: 'reauthenticate' } });
    // The clock of the provider is ahead by an hour.
    await prove({ ...identity, authenticatedAtMs: nowMs + 3_600_000 });
    await connect();
    auth.clock.advance(recentMs + 1);
    await expect(connect()).rejects.toMatchObject({ details: { rule: 'reauthenticate' } });
  });

  it('count as authenticated when the provider authenticated them, or not if it does not say', async () => {
    const identity = claims('earlier@example.com');
    const at = async (authenticatedAtMs: number | undefined) =>
      (await byIdentity({ ...identity, authenticatedAtMs }, true)).signedIn!.session!.authenticatedAtMs;
    const nowMs = auth.clock.nowMs();
    expect(await at(nowMs - 1_000_000)).toBe(BigInt(nowMs - 1_000_000));
    expect(await at(nowMs + 1_000_000)).toBe(BigInt(nowMs));
    expect(await at(undefined)).toBe(0n);
  });

  it('change their name freely, but their address only with the current password', async () => {
    await add('before@example.com');
    const { session } = await signIn('before@example.com');
    const update = (fields: Partial<UpdateProfileRequest>) =>
      auth.users.updateProfile(
        UpdateProfileRequest.fromPartial({
          sessionId: session!.id,
          ...fields,
          updateMask: maskOf(fields).filter((path) => path !== 'current_password'),
        }),
        operator,
      );
    expect((await update({ name: 'Ada King' })).user).toMatchObject({ name: 'Ada King', email: 'before@example.com', emailVerified: true });
    await expect(update({ email: 'after@example.com' })).rejects.toMatchObject({ reason: 'sign_in_refused' });
    await expect(update({ email: 'after@example.com', currentPassword: 'wrong guess' })).rejects.toMatchObject({
      reason: 'sign_in_refused',
    });
    expect((await update({ email: 'After@example.com', currentPassword: password })).user).toMatchObject({
      name: 'Ada King',
      email: 'after@example.com',
      emailVerified: false,
    });
    await signIn('after@example.com');
    await expect(signIn('before@example.com')).rejects.toMatchObject({ reason: 'sign_in_refused' });
    await add('theirs@example.com');
    for (let attempt = 0; attempt < attemptsMax.takenEmail; attempt += 1) {
      await expect(update({ email: 'theirs@example.com', currentPassword: password })).rejects.toMatchObject({
        reason: 'already_exists',
        details: { field: 'email' },
      });
    }
    await expect(update({ email: 'theirs@example.com', currentPassword: password })).rejects.toMatchObject({ reason: 'sign_in_throttled' });
    const { signedIn } = await byIdentity(claims('none@example.com'), true);
    const changed = await auth.users.updateProfile(
      UpdateProfileRequest.fromPartial({ sessionId: signedIn!.session!.id, email: 'none2@example.com', updateMask: ['email'] }),
      operator,
    );
    expect(changed.user!.email).toBe('none2@example.com');
  });

  it('confirm their password, with a limit on wrong attempts', async () => {
    const { session } = await signIn((await add('confirm@example.com')).email);
    const confirm = (currentPassword: string) => auth.users.confirmPassword({ sessionId: session!.id, currentPassword }, operator);
    await confirm(password);
    for (let attempt = 0; attempt < 5; attempt += 1)
      await expect(confirm('wrong guess')).rejects.toMatchObject({ reason: 'sign_in_refused' });
    await expect(confirm(password)).rejects.toMatchObject({ reason: 'sign_in_throttled' });
  });
});
