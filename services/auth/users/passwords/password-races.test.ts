// Sign-ins of users whose password is reset meanwhile, and changes in sessions that end meanwhile: an earlier proof no longer counts.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { generateSync } from 'otplib';
import { idToBytes, newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import {
  type Client,
  CreateInvitationRequest,
  RevokeSessionsRequest,
  Role,
  SecondFactorKind,
  UpdateProfileRequest,
  type User,
} from '#proto/auth/v1/users.js';
import { actingAs, identityResponse, newAccount, newClient, operator, password, startTestAuth, type TestAuth } from '../../testing/auth.js';
import { hashPassword } from './password.js';
import { resetLifeMs } from '../rpcs/request-password-reset.js';
import { FailureStore } from '../store/failures.js';
import { ResetStore } from '../store/resets.js';
import { SessionStore } from '../store/sessions.js';
import { UserStore } from '../store/users.js';
import { mintToken } from '../token.js';

// Hashing a password takes a core a fifth of a second, and longer when the core is shared.
jest.setTimeout(60_000);

describe.each(testEngines)('users whose password is changed on %s', (engine) => {
  let auth: TestAuth;
  let user: User;
  let newHash: string;
  const newPassword = 'a phrase of the owner';
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    newHash = await hashPassword(newPassword);
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => auth.stop());

  let users = 0;
  const add = async (): Promise<void> => {
    users += 1;
    const email = `user${users}@example.com`;
    user = (await auth.users.createUser({ email, name: 'Ada', password, isOperator: false }, operator)).user!;
  };
  const signIn = (secret = password, client = newClient()) => auth.users.signIn({ email: user.email, password: secret, client }, operator);
  const openSessions = async () => (await auth.users.listSessions({ userId: user.id }, operator)).sessions;

  /** Returns the outcome of `work`, with `change` made after the password of the user was read and before it is hashed. */
  async function withChangeBeforeHash(work: (client: Client) => Promise<unknown>, change: () => Promise<unknown>): Promise<unknown> {
    const { take } = FailureStore.prototype;
    // An attempt is counted before the password is hashed.
    jest.spyOn(FailureStore.prototype, 'take').mockImplementationOnce(async function (this: FailureStore, ...attempt) {
      await change();
      return take.apply(this, attempt);
    });
    return work(newClient());
  }
  /** Changes the password like ResetPassword, with its hash computed before. */
  const reset = async (): Promise<void> => {
    const id = idToBytes('user', user.id)!;
    await auth.db.transaction(async (tx) => {
      await tx('person').where({ id }).update({ password: newHash });
      await tx('session').where({ user_id: id }).delete();
    });
  };

  it('get no session with the former password', async () => {
    await add();
    await expect(withChangeBeforeHash((client) => signIn(password, client), reset)).rejects.toMatchObject({ reason: 'sign_in_refused' });
    expect(await openSessions()).toEqual([]);
    expect((await signIn(newPassword)).signedIn).toBeDefined();
  });

  it.each([{ is_disabled: 1 }, { has_second_factor: 1 }])('get no session by a sign-in during which the row gets %j', async (row) => {
    await add();
    const change = () =>
      auth.db
        .knex('person')
        .where({ id: idToBytes('user', user.id) })
        .update(row);
    await expect(withChangeBeforeHash((client) => signIn(password, client), change)).rejects.toMatchObject({ reason: 'sign_in_refused' });
    expect(await openSessions()).toEqual([]);
  });

  it.each([{ has_second_factor: 1 }, { email: 'moved@example.com' }])(
    'keep their password when a link is used while the row gets %j',
    async (row) => {
      await add();
      const id = idToBytes('user', user.id)!;
      const { token, hash } = mintToken();
      await auth.db.transaction((tx) => new ResetStore(auth.db).add(tx, hash, id, user.email, auth.clock.nowMs() + resetLifeMs));
      // The user is found before the new password is hashed, and changed before it is set.
      const { find } = UserStore.prototype;
      jest.spyOn(UserStore.prototype, 'find').mockImplementationOnce(async function (this: UserStore, ...request) {
        const stored = await find.apply(this, request);
        await auth.db.knex('person').where({ id }).update(row);
        return stored;
      });
      const passwordNow = () => auth.db.knex('person').where({ id }).first('password');
      const former: unknown = await passwordNow();
      const outcome = auth.users.resetPassword({ token, newPassword, client: newClient(), sessionId: '' }, operator);
      await expect(outcome).rejects.toMatchObject({ reason: 'sign_in_refused' });
      expect(await openSessions()).toEqual([]);
      expect(await passwordNow()).toEqual(former);
    },
  );

  /** Ends the sessions of the user when one is read for the n-th time. */
  const endAtRead = (number: number): void => {
    const { find } = SessionStore.prototype;
    let reads = 0;
    jest.spyOn(SessionStore.prototype, 'find').mockImplementation(async function (this: SessionStore, id, nowMs, knex = auth.db.knex) {
      reads += 1;
      if (reads === number)
        await knex('session')
          .where({ user_id: idToBytes('user', user.id) })
          .delete();
      return find.call(this, id, nowMs, knex);
    });
  };

  it('keep their password when a link is used in a session that ends meanwhile', async () => {
    await add();
    const signedIn = (await signIn()).signedIn!;
    const id = idToBytes('user', user.id)!;
    await auth.db.knex('person').where({ id }).update({ has_second_factor: 1 });
    const { token, hash } = mintToken();
    await auth.db.transaction((tx) => new ResetStore(auth.db).add(tx, hash, id, user.email, auth.clock.nowMs() + resetLifeMs));
    endAtRead(2);
    const outcome = auth.users.resetPassword(
      { token, newPassword, client: newClient(), sessionId: signedIn.session!.id },
      actingAs(signedIn),
    );
    await expect(outcome).rejects.toMatchObject({ reason: 'sign_in_refused' });
    await auth.db.knex('person').where({ id }).update({ has_second_factor: 0 });
    expect((await signIn()).signedIn).toBeDefined();
  });

  it.each([1, 2, 3])('accept no invitation in a session that has ended when it is read for the %dth time', async (number) => {
    await add();
    const signedIn = (await signIn()).signedIn!;
    const { id: accountId } = await newAccount(auth.service);
    const fields = { accountId, email: user.email, role: Role.ROLE_OWNER, invitedByUserId: user.id };
    const { token } = await auth.users.createInvitation(CreateInvitationRequest.fromPartial(fields), operator);
    endAtRead(number);
    const request = { token, name: '', password: '', client: newClient(), sessionId: signedIn.session!.id };
    await expect(auth.users.acceptInvitation(request, actingAs(signedIn))).rejects.toMatchObject({ reason: 'sign_in_refused' });
    // Neither does a new session continue it.
    expect((await openSessions()).filter(({ id }) => id !== signedIn.session!.id)).toEqual([]);
  });

  it('accept no invitation that is revoked meanwhile', async () => {
    await add();
    const { id: accountId } = await newAccount(auth.service);
    const fields = { accountId, email: user.email, role: Role.ROLE_OWNER, invitedByUserId: user.id };
    const { token, invitation } = await auth.users.createInvitation(CreateInvitationRequest.fromPartial(fields), operator);
    const accept = (client: Client) => auth.users.acceptInvitation({ token, name: '', password, client, sessionId: '' }, operator);
    const revoke = () => auth.users.revokeInvitation({ accountId, invitationId: invitation!.id }, operator);
    await expect(withChangeBeforeHash(accept, revoke)).rejects.toMatchObject({ reason: 'not_found' });
    expect((await auth.users.listMembers({ accountId }, operator)).members).toEqual([]);
  });

  it('change neither their name nor how they sign in when their session ends meanwhile', async () => {
    await add();
    const sessionId = (await signIn()).signedIn!.session!.id;
    const isRefused = async (change: () => Promise<unknown>): Promise<void> => {
      endAtRead(2);
      await expect(change()).rejects.toMatchObject({ reason: 'not_found' });
      jest.restoreAllMocks();
    };
    const kind = SecondFactorKind.SECOND_FACTOR_KIND_TOTP;
    const { enrolment, setup } = await auth.users.beginSecondFactor({ sessionId, kind }, operator);
    const secret = new URL(setup!.value).searchParams.get('secret')!;
    const proof = { $case: 'totpCode', value: generateSync({ secret, epoch: Math.floor(auth.clock.nowMs() / 1000) }) } as const;
    const addFactor = () => auth.users.addSecondFactor({ sessionId, enrolment, name: 'Phone', proof, language: '' }, operator);
    await isRefused(addFactor);
    const { id: factorId } = (await addFactor()).factor!;
    const claims = { issuer: 'https://id.example.com', subject: 'stolen', email: user.email, emailVerified: true, name: 'Ada' };
    for (const change of [
      () => auth.users.renameSecondFactor({ sessionId, factorId, name: 'Tablet' }, operator),
      () => auth.users.removeSecondFactor({ sessionId, factorId, language: '' }, operator),
      () => auth.users.createRecoveryCodes({ sessionId, language: '' }, operator),
      () => auth.users.connectIdentity({ sessionId, response: identityResponse(claims) }, operator),
      () => auth.users.updateProfile(UpdateProfileRequest.fromPartial({ sessionId, name: 'Eve', updateMask: ['name'] }), operator),
    ])
      await isRefused(change);
  });

  it('end a session together with one that continues it at the same moment', async () => {
    await add();
    const { session } = (await signIn()).signedIn!;
    let ending: Promise<unknown> | undefined;
    await auth.db.transaction(async (tx) => {
      await new UserStore(auth.db).lock(tx, idToBytes('user', user.id)!);
      ending = auth.users.revokeSessions(RevokeSessionsRequest.fromPartial({ userId: user.id }), operator);
      // Longer than ending the sessions takes, if it does not wait for the commit.
      await pause(500);
      await new SessionStore(auth.db).add(tx, { ...session!, id: newId('sess') }, mintToken().hash);
    });
    await ending;
    expect(await openSessions()).toEqual([]);
  });

  it('change neither password nor address in a session that ends meanwhile', async () => {
    const intrusions = [
      (sessionId: string) =>
        auth.users.setPassword({ sessionId, currentPassword: password, newPassword: 'a phrase of the intruder' }, operator),
      (sessionId: string) =>
        auth.users.updateProfile(
          UpdateProfileRequest.fromPartial({ sessionId, currentPassword: password, email: 'other@example.com', updateMask: ['email'] }),
          operator,
        ),
    ];
    for (const intrude of intrusions) {
      await add();
      const { session } = (await signIn()).signedIn!;
      await expect(withChangeBeforeHash(() => intrude(session!.id), reset)).rejects.toMatchObject({ reason: 'not_found' });
      // With the address and the password of the owner.
      expect((await signIn(newPassword)).signedIn).toBeDefined();
    }
  });
});
