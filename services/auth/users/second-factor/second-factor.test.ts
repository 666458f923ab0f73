// Second factors: set up, used, limited and removed. Codes are computed by another library, and passkeys by an authenticator in software.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { generateSync } from 'otplib';
import { testEngines } from '#kit/testing/database.js';
import { eventually } from '#kit/testing/waiting.js';
import {
  type Client,
  CreateManagementKeyRequest,
  ListAuditEventsRequest,
  Role,
  SecondFactorKind,
  type SecondFactorChallenge,
  type SecondFactorProof,
  type SignedIn,
  SignInMethod,
} from '#proto/auth/v1/users.js';
import { hashSecret } from '#rules/keys/key-secrets.js';
import { actingAs, identityResponse, newAccount, operator, password, startTestAuth, type TestAuth } from '../../testing/auth.js';
import { TestMailer } from '../../testing/test-mailer.js';
import { failuresMax, failureWindowMs } from '../passwords/throttle.js';
import { challengeLifeMs } from './challenges.js';
import { relyingPartyOf } from './passkeys.js';
import { recentMs } from './recent.js';
import { factorsMax } from './store.js';
import { SoftwareAuthenticator } from './testing/software-authenticator.js';

const publicUrl = 'https://ai.example.com';
const { SECOND_FACTOR_KIND_TOTP: totp, SECOND_FACTOR_KIND_PASSKEY: passkey } = SecondFactorKind;
const stepMs = 30_000;
// Hashing a password takes a core a fifth of a second, and longer when the core is shared.
jest.setTimeout(60_000);

it.each([
  [undefined, undefined],
  ['http://ai.example.com', undefined],
  ['https://192.0.2.1', undefined],
  ['https://[2001:db8::1]:8443', undefined],
  ['https://ai.example.com:8443/tollgate', { id: 'ai.example.com', origin: 'https://ai.example.com:8443' }],
  ['http://localhost:8080', { id: 'localhost', origin: 'http://localhost:8080' }],
])('passkeys at the public address %s belong to %j', (address, party) => expect(relyingPartyOf(address)).toEqual(party));

describe.each(testEngines)('second factors on %s', (engine) => {
  let auth: TestAuth;
  let users = 0;
  const mailer = new TestMailer();
  beforeAll(async () => {
    auth = await startTestAuth(engine, { mailer, publicUrl });
  });
  afterAll(() => auth.stop());

  // Each user has their own network address, so that the tests do not throttle each other.
  interface TestUser {
    readonly email: string;
    readonly client: Client;
    readonly signedIn: SignedIn;
    readonly sessionId: string;
    readonly userId: string;
  }
  async function newUser(fields: { isOperator?: boolean; hasPassword?: boolean } = {}): Promise<TestUser> {
    users += 1;
    const email = `user${users}@example.com`;
    const { user } = await auth.users.createUser(
      { email, name: 'Ada', password: fields.hasPassword === true ? password : '', isOperator: fields.isOperator ?? false },
      operator,
    );
    const client = { address: `192.0.2.${users}`, userAgent: 'Test' };
    const { signedIn } = await byLink({ email, client });
    return { email, client, signedIn: signedIn!, sessionId: signedIn!.session!.id, userId: user!.id };
  }
  const enter = ({ email, client }: TestUser) => auth.users.signIn({ email, password, client }, operator);
  // Links are quick, since nothing is hashed slowly.
  const byLink = async ({ email, client }: Pick<TestUser, 'email' | 'client'>) => {
    const { token } = await auth.users.createSignInLink({ email, sendMail: false, language: '' }, operator);
    return auth.users.redeemSignInLink({ token, client }, operator);
  };
  const challengeOf = async (user: TestUser): Promise<SecondFactorChallenge> => {
    const { signedIn, challenge } = await byLink(user);
    expect(signedIn).toBeUndefined();
    return challenge!;
  };
  const finish = async (challenge: SecondFactorChallenge, proof: SecondFactorProof['proof'], client: Client): Promise<SignedIn> =>
    (await auth.users.finishSignIn({ proof: { challengeToken: challenge.token, proof, language: '' }, client }, operator)).signedIn!;
  const code = (value: string): SecondFactorProof['proof'] => ({ $case: 'totpCode', value });
  const recovery = (value: string): SecondFactorProof['proof'] => ({ $case: 'recoveryCode', value });
  const byPasskey = (value: string): SecondFactorProof['proof'] => ({ $case: 'passkeyResponseJson', value });
  const codeAt = (secret: string, stepsAhead = 0): string =>
    generateSync({ secret, epoch: Math.floor((auth.clock.nowMs() + stepsAhead * stepMs) / 1000) });
  const refused = { reason: 'sign_in_refused' };

  async function addApp({ sessionId }: TestUser): Promise<{ secret: string; codes: string[]; id: string }> {
    const { enrolment, setup } = await auth.users.beginSecondFactor({ sessionId, kind: totp }, operator);
    const secret = new URL(setup!.value).searchParams.get('secret')!;
    const proof = { $case: 'totpCode', value: codeAt(secret) } as const;
    const { factor, recoveryCodes } = await auth.users.addSecondFactor(
      { sessionId, enrolment, name: 'My phone', proof, language: '' },
      operator,
    );
    // The next code is that of another step.
    auth.clock.advance(stepMs);
    return { secret, codes: recoveryCodes, id: factor!.id };
  }
  async function addPasskey({ sessionId }: TestUser, authenticator: SoftwareAuthenticator) {
    const { enrolment, setup } = await auth.users.beginSecondFactor({ sessionId, kind: passkey }, operator);
    const proof = { $case: 'passkeyResponseJson', value: authenticator.create(setup!.value) } as const;
    return auth.users.addSecondFactor({ sessionId, enrolment, name: 'My laptop', proof, language: '' }, operator);
  }
  const factorsOf = ({ userId }: TestUser) => auth.users.listSecondFactors({ userId }, operator);

  it('require the code of an authenticator app, whose secret is only stored encrypted', async () => {
    const user = await newUser({ hasPassword: true });
    const { setup } = await auth.users.beginSecondFactor({ sessionId: user.sessionId, kind: totp }, operator);
    expect(setup!.value).toMatch(
      /^otpauth:\/\/totp\/Tollgate%20ai\.example\.com:user\d+%40example\.com\?issuer=Tollgate%20ai\.example\.com&secret=[A-Z2-7]{32}&algorithm=SHA1&digits=6&period=30$/,
    );
    const { secret } = await addApp(user);
    const [row] = (await auth.db.knex('second_factor').where({ kind: totp })) as { sealed_data: string }[];
    expect(row!.sealed_data).not.toContain(secret);
    const { challenge } = await enter(user);
    expect(challenge).toMatchObject({ totp: true, recoveryCodes: true, passkeyOptionsJson: '' });
    const signedIn = await finish(challenge!, code(codeAt(secret)), user.client);
    expect(signedIn).toMatchObject({ user: { hasSecondFactor: true }, session: { method: SignInMethod.SIGN_IN_METHOD_PASSWORD } });
    expect(await factorsOf(user)).toMatchObject({
      factors: [{ kind: totp, name: 'My phone', lastUsedAtMs: BigInt(auth.clock.nowMs()) }],
      recoveryCodesLeft: 10,
    });
    expect(auth.logLines.join('\n')).not.toContain(secret);
  });

  it('do not complete a sign-in that began with a former password', async () => {
    const user = await newUser({ hasPassword: true });
    const { secret } = await addApp(user);
    const { challenge } = await enter(user);
    const newPassword = 'another good phrase';
    await auth.users.setPassword({ sessionId: user.sessionId, currentPassword: password, newPassword }, operator);
    await expect(finish(challenge!, code(codeAt(secret)), user.client)).rejects.toMatchObject(refused);
    // The code itself is right, and was not used up.
    await finish(await challengeOf(user), code(codeAt(secret)), user.client);
  });

  it('accept a code of the previous and the next step, and each code once', async () => {
    const user = await newUser();
    const { secret } = await addApp(user);
    auth.clock.advance(3 * stepMs);
    const previous = codeAt(secret, -1);
    await finish(await challengeOf(user), code(previous), user.client);
    await expect(finish(await challengeOf(user), code(previous), user.client)).rejects.toMatchObject(refused);
    await finish(await challengeOf(user), code(codeAt(secret, 1)), user.client);
    // An earlier code than the last accepted one could have been seen over the shoulder.
    await expect(finish(await challengeOf(user), code(codeAt(secret)), user.client)).rejects.toMatchObject(refused);
    auth.clock.advance(5 * stepMs);
    for (const drift of [-2, 2])
      await expect(finish(await challengeOf(user), code(codeAt(secret, drift)), user.client)).rejects.toMatchObject(refused);
  });

  it('accept one of several concurrent uses of a code and of a challenge', async () => {
    const user = await newUser();
    const { secret } = await addApp(user);
    const present = codeAt(secret);
    const challenges = [await challengeOf(user), await challengeOf(user), await challengeOf(user)];
    const uses = await Promise.allSettled(challenges.map((challenge) => finish(challenge, code(present), user.client)));
    expect(uses.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const used = challenges[uses.findIndex(({ status }) => status === 'fulfilled')]!;
    auth.clock.advance(stepMs);
    await expect(finish(used, code(codeAt(secret)), user.client)).rejects.toMatchObject(refused);
  });

  it('limit wrong codes from one network for all users together', async () => {
    const client = { address: '192.0.2.250', userAgent: '' };
    for (let failures = 0; failures < failuresMax.address; failures += failuresMax.factor) {
      const other = await newUser();
      await addApp(other);
      const challenge = await challengeOf(other);
      for (let tries = 0; tries < failuresMax.factor; tries += 1)
        await expect(finish(challenge, code('000000'), client)).rejects.toMatchObject(refused);
    }
    const user = await newUser();
    const { secret } = await addApp(user);
    const challenge = await challengeOf(user);
    await expect(finish(challenge, code(codeAt(secret)), client)).rejects.toMatchObject({ reason: 'sign_in_throttled' });
    await finish(challenge, code(codeAt(secret)), user.client);
  });

  it('limit wrong codes of a user, from one network and from all', async () => {
    const user = await newUser();
    const { secret } = await addApp(user);
    const challenge = await challengeOf(user);
    const guess = (client: Client) => finish(challenge, code('000000'), client);
    for (let tries = 0; tries < failuresMax.factor; tries += 1) await expect(guess(user.client)).rejects.toMatchObject(refused);
    const throttled = { reason: 'sign_in_throttled' };
    await expect(finish(challenge, code(codeAt(secret)), user.client)).rejects.toMatchObject(throttled);
    for (let tries = failuresMax.factor; tries < failuresMax.factorAnywhere; tries += 1)
      await expect(guess({ address: `198.51.100.${tries}`, userAgent: '' })).rejects.toMatchObject(refused);
    await expect(finish(challenge, code(codeAt(secret)), { address: '198.51.100.99', userAgent: '' })).rejects.toMatchObject(throttled);
    const line = auth.logLines.findLast((each) => each.includes('authentication throttled'));
    expect(JSON.parse(line!)).toMatchObject({ client_address: '198.51.100.99', user_id: user.userId, proof: 'second factor' });
    expect(auth.logLines.some((each) => each.includes('authentication failed') && each.includes(user.client.address))).toBe(true);
    auth.clock.advance(failureWindowMs);
    await finish(await challengeOf(user), code(codeAt(secret)), user.client);
  });

  it('are not limited by wrong codes for those that an operator has removed', async () => {
    const user = await newUser();
    await addApp(user);
    const challenge = await challengeOf(user);
    for (let tries = 0; tries < failuresMax.factor; tries += 1)
      await expect(finish(challenge, code('000000'), user.client)).rejects.toMatchObject(refused);
    await auth.users.resetSecondFactors({ userId: user.userId, language: '' }, operator);
    const { signedIn } = await byLink(user);
    const { codes } = await addApp({ ...user, sessionId: signedIn!.session!.id });
    await finish(await challengeOf(user), recovery(codes[0]!), user.client);
  });

  it('have no failures from a network after a success there', async () => {
    const user = await newUser();
    const { secret } = await addApp(user);
    for (let round = 0; round < 2; round += 1) {
      const challenge = await challengeOf(user);
      for (let tries = 1; tries < failuresMax.factor; tries += 1)
        await expect(finish(challenge, code('000000'), user.client)).rejects.toMatchObject(refused);
      await finish(challenge, code(codeAt(secret)), user.client);
      auth.clock.advance(stepMs);
    }
  });

  it('end a challenge after ten minutes, and accept no other text as one', async () => {
    const user = await newUser();
    const { secret } = await addApp(user);
    const challenge = await challengeOf(user);
    auth.clock.advance(challengeLifeMs);
    await expect(finish(challenge, code(codeAt(secret)), user.client)).rejects.toMatchObject(refused);
    await expect(finish({ ...challenge, token: 'x.y' }, code(codeAt(secret)), user.client)).rejects.toMatchObject(refused);
    // The challenge of a session that authenticates again begins no session.
    const { challenge: again } = await auth.users.beginReauthentication({ sessionId: user.sessionId }, operator);
    await expect(finish(again!, code(codeAt(secret)), user.client)).rejects.toMatchObject(refused);
  });

  it('accept each recovery code once, and none of a set that was replaced', async () => {
    const user = await newUser();
    const { codes } = await addApp(user);
    expect(codes).toHaveLength(10);
    expect(codes[0]).toMatch(/^([a-z2-7]{4}-){3}[a-z2-7]{4}$/);
    await finish(await challengeOf(user), recovery(codes[0]!.toUpperCase().replaceAll('-', ' ')), user.client);
    await expect(finish(await challengeOf(user), recovery(codes[0]!), user.client)).rejects.toMatchObject(refused);
    expect(await factorsOf(user)).toMatchObject({ recoveryCodesLeft: 9 });
    const { recoveryCodes } = await auth.users.createRecoveryCodes({ sessionId: user.sessionId, language: 'zh-CN' }, operator);
    await expect(finish(await challengeOf(user), recovery(codes[1]!), user.client)).rejects.toMatchObject(refused);
    await finish(await challengeOf(user), recovery(recoveryCodes[1]!), user.client);
    const other = await newUser();
    await addApp(other);
    await expect(finish(await challengeOf(other), recovery(recoveryCodes[2]!), other.client)).rejects.toMatchObject(refused);
    const subjects = () => mailer.mails.filter(({ to }) => to === user.email).map(({ subject }) => subject);
    await eventually(() => (subjects().length === 4 ? true : undefined));
    expect(subjects().toSorted()).toEqual([
      'A recovery code was used',
      'A recovery code was used',
      'A second factor was added',
      '已生成新的恢复码',
    ]);
    const { events } = await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial({ actor: user.userId }), operator);
    expect(events.map(({ action }) => action)).toEqual([
      'profile.recovery_code',
      'profile.recovery_codes',
      'profile.recovery_code',
      'profile.add_factor',
    ]);
  });

  it('keep a recovery code whose sign-in is refused', async () => {
    const user = await newUser();
    const { codes } = await addApp(user);
    const used = await challengeOf(user);
    await finish(used, recovery(codes[0]!), user.client);
    await expect(finish(used, recovery(codes[1]!), user.client)).rejects.toMatchObject(refused);
    const disabled = await challengeOf(user);
    const row = () => auth.db.knex('person').where({ email: user.email });
    await row().update({ is_disabled: 1 });
    await expect(byLink(user)).rejects.toMatchObject(refused);
    await expect(finish(disabled, recovery(codes[1]!), user.client)).rejects.toMatchObject(refused);
    await row().update({ is_disabled: 0 });
    expect(await factorsOf(user)).toMatchObject({ recoveryCodesLeft: 9 });
    await finish(disabled, recovery(codes[1]!), user.client);
  });

  it('accept passkeys as a second factor and alone, with an increasing counter', async () => {
    const user = await newUser();
    const authenticator = new SoftwareAuthenticator(publicUrl);
    expect((await addPasskey(user, authenticator)).recoveryCodes).toHaveLength(10);
    const challenge = await challengeOf(user);
    expect(JSON.parse(challenge.passkeyOptionsJson)).toMatchObject({
      rpId: 'ai.example.com',
      allowCredentials: [{ id: authenticator.id, transports: ['internal'] }],
    });
    authenticator.counter = 7;
    const response = authenticator.get(challenge.passkeyOptionsJson);
    await finish(challenge, byPasskey(response), user.client);
    await expect(finish(challenge, byPasskey(response), user.client)).rejects.toMatchObject(refused);
    const alone = async () => (await auth.users.beginPasskeySignIn({}, operator)).challenge!;
    const open = await alone();
    // A copied authenticator has signed with this counter before.
    await expect(finish(open, byPasskey(authenticator.get(open.passkeyOptionsJson)), user.client)).rejects.toMatchObject(refused);
    const copied = { actor: user.userId, action: 'profile.copied_passkey' };
    const { events } = await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial(copied), operator);
    expect(events.map(({ detailJson }) => JSON.parse(detailJson) as object)).toEqual([
      { email: user.email, name: expect.any(String), counter: 7, former_counter: 7 },
    ]);
    authenticator.counter = 8;
    const again = await alone();
    expect(await finish(again, byPasskey(authenticator.get(again.passkeyOptionsJson)), user.client)).toMatchObject({
      user: { id: user.userId },
      session: { method: SignInMethod.SIGN_IN_METHOD_PASSKEY },
    });
    // Neither a code nor an unknown passkey finishes such a sign-in.
    await expect(finish(await alone(), code('000000'), user.client)).rejects.toMatchObject(refused);
    const unknown = await alone();
    const stranger = new SoftwareAuthenticator(publicUrl);
    await expect(finish(unknown, byPasskey(stranger.get(unknown.passkeyOptionsJson)), user.client)).rejects.toMatchObject(refused);
  });

  it('refuse passkeys of other origins, of other users, without verification where it is needed, and twice', async () => {
    const [user, other] = [await newUser(), await newUser()];
    await expect(addPasskey(user, new SoftwareAuthenticator('https://evil.example.com'))).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field: 'passkey' },
    });
    const key = new SoftwareAuthenticator(publicUrl, false);
    await addPasskey(user, key);
    await expect(addPasskey(other, key)).rejects.toMatchObject({ reason: 'already_exists' });
    await addApp(other);
    const of = await challengeOf(other);
    const options = JSON.stringify({ challenge: JSON.parse((await challengeOf(user)).passkeyOptionsJson).challenge });
    await expect(finish(of, byPasskey(key.get(options)), other.client)).rejects.toMatchObject(refused);
    // Nor does it answer the challenge of another user who has one too.
    const own = new SoftwareAuthenticator(publicUrl);
    await addPasskey(other, own);
    const theirs = await challengeOf(other);
    await expect(finish(theirs, byPasskey(key.get(theirs.passkeyOptionsJson)), other.client)).rejects.toMatchObject(refused);
    await finish(theirs, byPasskey(own.get(theirs.passkeyOptionsJson)), other.client);
    // A security key without a PIN is valid as a second factor, but not alone.
    const challenge = await challengeOf(user);
    await finish(challenge, byPasskey(key.get(challenge.passkeyOptionsJson)), user.client);
    const { challenge: alone } = await auth.users.beginPasskeySignIn({}, operator);
    await expect(finish(alone!, byPasskey(key.get(alone!.passkeyOptionsJson)), user.client)).rejects.toMatchObject(refused);
    for (const nonsense of ['', '{}', 'null', '[1]', '{"id":5}', `"${'x'.repeat(10_001)}"`])
      await expect(
        finish(await challengeOf(user), byPasskey(nonsense), { address: nonsense.slice(0, 9), userAgent: '' }),
      ).rejects.toMatchObject(refused);
  });

  it('are changed only shortly after an authentication, which the password or a factor repeats', async () => {
    const user = await newUser({ hasPassword: true });
    const { sessionId } = user;
    const { secret, id } = await addApp(user);
    auth.clock.advance(recentMs);
    const stale = { reason: 'failed_precondition', message: expect.stringContaining('Enter your password') };
    const remove = () => auth.users.removeSecondFactor({ sessionId, factorId: id, language: '' }, operator);
    await expect(remove()).rejects.toMatchObject(stale);
    await expect(auth.users.createRecoveryCodes({ sessionId, language: '' }, operator)).rejects.toMatchObject(stale);
    await expect(auth.users.beginSecondFactor({ sessionId, kind: passkey }, operator)).rejects.toMatchObject(stale);
    // A new name changes nothing about a sign-in.
    await auth.users.renameSecondFactor({ sessionId, factorId: id, name: 'Work phone' }, operator);
    expect((await factorsOf(user)).factors).toMatchObject([{ id, name: 'Work phone' }]);
    await expect(auth.users.reauthenticate({ sessionId, by: { $case: 'password', value: 'wrong guess' } }, operator)).rejects.toMatchObject(
      refused,
    );
    const { challenge } = await auth.users.beginReauthentication({ sessionId }, operator);
    const by = { $case: 'secondFactor', value: { challengeToken: challenge!.token, proof: code(codeAt(secret)), language: '' } } as const;
    await auth.users.reauthenticate({ sessionId, by }, operator);
    await auth.users.createRecoveryCodes({ sessionId, language: '' }, operator);
    auth.clock.advance(recentMs + 1);
    await auth.users.reauthenticate({ sessionId, by: { $case: 'password', value: password } }, operator);
    await remove();
    expect(await factorsOf(user)).toEqual({ factors: [], recoveryCodesLeft: 0 });
    expect((await enter(user)).signedIn).toMatchObject({ user: { hasSecondFactor: false } });
    await expect(remove()).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('fail in a session with the address of the attempt, which may be elsewhere than the sign-in', async () => {
    const user = await newUser({ hasPassword: true });
    const { signedIn, sessionId, client } = user;
    await addApp(user);
    const { challenge } = await auth.users.beginReauthentication({ sessionId }, operator);
    const context = actingAs(signedIn);
    expect(context.actor!.clientAddress).not.toBe(client.address);
    const value = { challengeToken: challenge!.token, proof: code('000000'), language: '' };
    for (const by of [{ $case: 'password', value: 'wrong guess' } as const, { $case: 'secondFactor', value } as const]) {
      await expect(auth.users.reauthenticate({ sessionId, by }, context)).rejects.toMatchObject(refused);
      const line = auth.logLines.findLast((each) => each.includes('authentication failed'));
      expect(JSON.parse(line!)).toMatchObject({ client_address: context.actor!.clientAddress });
    }
  });

  it('are not added when the setup has taken longer than a quarter of an hour', async () => {
    const { sessionId } = await newUser();
    const { enrolment, setup } = await auth.users.beginSecondFactor({ sessionId, kind: totp }, operator);
    auth.clock.advance(15 * 60_000);
    const proof = { $case: 'totpCode', value: codeAt(new URL(setup!.value).searchParams.get('secret')!) } as const;
    await expect(
      auth.users.addSecondFactor({ sessionId, enrolment, name: 'My phone', proof, language: '' }, operator),
    ).rejects.toMatchObject({ reason: 'failed_precondition', details: { rule: 'enrolment_ended' } });
  });

  it('include one app only, even if the setup of a second one began before the first was added', async () => {
    const user = await newUser();
    const { sessionId } = user;
    const { enrolment, setup } = await auth.users.beginSecondFactor({ sessionId, kind: totp }, operator);
    await addApp(user);
    const proof = { $case: 'totpCode', value: codeAt(new URL(setup!.value).searchParams.get('secret')!) } as const;
    await expect(
      auth.users.addSecondFactor({ sessionId, enrolment, name: 'My tablet', proof, language: '' }, operator),
    ).rejects.toMatchObject({ reason: 'failed_precondition', details: { rule: 'totp_present' } });
  });

  it('authenticate only the session that asked for them', async () => {
    const user = await newUser();
    const { codes } = await addApp(user);
    const other = await finish(await challengeOf(user), recovery(codes[0]!), user.client);
    auth.clock.advance(recentMs + 1);
    const { sessionId } = user;
    const { challenge: ofOther } = await auth.users.beginReauthentication({ sessionId: other.session!.id }, operator);
    for (const challenge of [await challengeOf(user), ofOther!]) {
      const value = { challengeToken: challenge.token, proof: recovery(codes[1]!), language: '' };
      await expect(auth.users.reauthenticate({ sessionId, by: { $case: 'secondFactor', value } }, operator)).rejects.toMatchObject(refused);
    }
    await expect(auth.users.createRecoveryCodes({ sessionId, language: '' }, operator)).rejects.toMatchObject({
      details: { rule: 'reauthenticate' },
    });
  });

  it('are one app and a few passkeys, of the user of the session only', async () => {
    const [user, other] = [await newUser(), await newUser()];
    const { id } = await addApp(user);
    await expect(addApp(user)).rejects.toMatchObject({ reason: 'failed_precondition' });
    const { sessionId } = user;
    await expect(auth.users.removeSecondFactor({ sessionId, factorId: id, language: '' }, actingAs(other.signedIn))).rejects.toMatchObject({
      reason: 'role_not_permitted',
    });
    await expect(
      auth.users.removeSecondFactor({ sessionId: other.sessionId, factorId: id, language: '' }, actingAs(other.signedIn)),
    ).rejects.toMatchObject({ reason: 'not_found' });
    const rename = (session: string, name: string, context = operator) =>
      auth.users.renameSecondFactor({ sessionId: session, factorId: id, name }, context);
    await expect(rename(sessionId, 'Mine', actingAs(other.signedIn))).rejects.toMatchObject({ reason: 'role_not_permitted' });
    await expect(rename(other.sessionId, 'Mine', actingAs(other.signedIn))).rejects.toMatchObject({ reason: 'not_found' });
    await expect(rename(sessionId, ' ')).rejects.toMatchObject({ reason: 'invalid_request' });
    for (let count = 1; count < factorsMax; count += 1) await addPasskey(user, new SoftwareAuthenticator(publicUrl));
    await expect(addPasskey(user, new SoftwareAuthenticator(publicUrl))).rejects.toMatchObject({ reason: 'failed_precondition' });
    const { enrolment } = await auth.users.beginSecondFactor({ sessionId: other.sessionId, kind: totp }, operator);
    const proof = { $case: 'totpCode', value: '000000' } as const;
    await expect(auth.users.addSecondFactor({ sessionId, enrolment, name: 'Theirs', proof, language: '' }, operator)).rejects.toMatchObject(
      {
        reason: 'failed_precondition',
      },
    );
    await expect(
      auth.users.addSecondFactor({ sessionId: other.sessionId, enrolment, name: 'Phone', proof, language: '' }, operator),
    ).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'totp_code' } });
  });

  it('end the other sessions of the user when the first one is set up, because they began without one', async () => {
    const user = await newUser();
    const sessionOf = ({ token }: SignedIn) => auth.users.getSession({ token, accountId: '', clientAddress: '' }, operator);
    const earlier = (await byLink(user)).signedIn!;
    const { secret } = await addApp(user);
    await expect(sessionOf(earlier)).rejects.toMatchObject({ reason: 'session_unknown' });
    // Nor can it stand in for the factor when the password is reset.
    const { challenge } = await byLink(user);
    const later = await finish(challenge!, code(codeAt(secret)), user.client);
    await addPasskey(user, new SoftwareAuthenticator(publicUrl));
    for (const signedIn of [user.signedIn, later]) expect((await sessionOf(signedIn)).user?.id).toBe(user.userId);
  });

  it('are required after a link and for a password reset, which changes nothing until one is proven', async () => {
    const user = await newUser({ hasPassword: true });
    const { secret } = await addApp(user);
    const { email, client } = user;
    const { token: link } = await auth.users.createSignInLink({ email, sendMail: false, language: '' }, operator);
    const redeemed = await auth.users.redeemSignInLink({ token: link, client }, operator);
    expect(redeemed.signedIn).toBeUndefined();
    const session = (await finish(redeemed.challenge!, code(codeAt(secret)), client)).session!;
    expect(session.method).toBe(SignInMethod.SIGN_IN_METHOD_LINK);
    auth.clock.advance(stepMs);

    await auth.users.requestPasswordReset({ email, client, language: '' }, operator);
    const mail = await eventually(() => mailer.mails.find(({ to, text }) => to === email && text.includes('/reset#')));
    const reset = { token: /\/reset#(\S+)/.exec(mail.text)![1]!, newPassword: `${password} 2`, client };
    const first = await auth.users.resetPassword({ ...reset, sessionId: '' }, operator);
    expect(first.signedIn).toBeUndefined();
    await enter(user);
    const signedIn = await finish(first.challenge!, code(codeAt(secret)), client);
    // The id of a session is no secret: without its actor token it proves nothing.
    const gateway = { ...operator, actor: undefined };
    const stranger = { ...reset, sessionId: signedIn.session!.id };
    expect((await auth.users.resetPassword(stranger, gateway)).signedIn).toBeUndefined();
    expect((await auth.users.resetPassword(stranger, actingAs(signedIn))).signedIn).toBeDefined();
    await expect(enter(user)).rejects.toMatchObject(refused);
  });

  it('are required when an invitation is accepted with a password, but not by the identity provider', async () => {
    const user = await newUser({ hasPassword: true });
    const { secret } = await addApp(user);
    const { email, client } = user;
    const { id: accountId } = await newAccount(auth.service);
    await auth.users.putMember({ accountId, userId: (await newUser()).userId, role: Role.ROLE_OWNER }, operator);
    const invitation = { accountId, email, role: Role.ROLE_VIEWER, invitedByUserId: user.userId, projectRoles: [], language: '' };
    const { token } = await auth.users.createInvitation(invitation, operator);
    const request = { token, name: '', password, client, sessionId: '' };
    const { challenge } = await auth.users.acceptInvitation(request, operator);
    expect((await auth.users.listMembers({ accountId }, operator)).members).toHaveLength(1);
    const signedIn = await finish(challenge!, code(codeAt(secret)), client);
    const accepted = await auth.users.acceptInvitation({ ...request, password: '', sessionId: signedIn.session!.id }, actingAs(signedIn));
    expect(accepted.signedIn).toMatchObject({ user: { id: user.userId } });
    expect((await auth.users.listMembers({ accountId }, operator)).members).toMatchObject([{ user: { email } }, {}]);

    const claims = { issuer: 'https://id.example.com', subject: email, email, emailVerified: true, name: 'Ada' };
    const byProvider = await auth.users.signInWithIdentity({ response: identityResponse(claims), client }, operator);
    expect(byProvider.signedIn!.session!.method).toBe(SignInMethod.SIGN_IN_METHOD_IDENTITY);
  });

  it('cannot be changed by an older session after it has accepted an invitation', async () => {
    const user = await newUser({ hasPassword: true });
    const { id } = await addApp(user);
    const { id: accountId } = await newAccount(auth.service);
    const invitation = {
      accountId,
      email: user.email,
      role: Role.ROLE_OWNER,
      invitedByUserId: user.userId,
      projectRoles: [],
      language: '',
    };
    const { token } = await auth.users.createInvitation(invitation, operator);
    auth.clock.advance(recentMs);
    const { client, signedIn, sessionId: presentId } = user;
    const request = { token, name: '', password: '', client, sessionId: presentId };
    const { session } = (await auth.users.acceptInvitation(request, actingAs(signedIn))).signedIn!;
    const sessionId = session!.id;
    const { createdAtMs, authenticatedAtMs } = signedIn.session!;
    expect(session).toMatchObject({ createdAtMs, authenticatedAtMs });
    await expect(auth.users.removeSecondFactor({ sessionId, factorId: id, language: '' }, operator)).rejects.toMatchObject({
      reason: 'failed_precondition',
    });
    // Only a sign-in with a link permits this, and for a short time.
    const change = { sessionId, currentPassword: '', newPassword: `${password} 2` };
    await expect(auth.users.setPassword(change, operator)).rejects.toMatchObject(refused);
  });

  it('are removed by an operator when the user has lost them, and the user is notified', async () => {
    const user = await newUser({ hasPassword: true });
    await addApp(user);
    const { userId } = user;
    expect((await auth.users.resetSecondFactors({ userId, language: '' }, operator)).user).toMatchObject({ hasSecondFactor: false });
    await auth.users.resetSecondFactors({ userId, language: '' }, operator);
    expect((await enter(user)).signedIn).toBeDefined();
    await eventually(() => mailer.mails.find(({ to, subject }) => to === user.email && subject === 'Your second factors were removed'));
    const { events } = await auth.users.listAuditEvents(ListAuditEventsRequest.fromPartial({ targetId: userId, action: 'user' }), operator);
    expect(events.map(({ action }) => action)).toEqual(['user.reset_factors', 'user.link', 'user.create']);
  });

  it('can be required: users without one may do nothing but set one up', async () => {
    const user = await newUser({ isOperator: true });
    const { token } = user.signedIn;
    const { id: accountId } = await newAccount(auth.service);
    await auth.users.putMember({ accountId, userId: user.userId, role: Role.ROLE_OWNER }, operator);
    const read = () => auth.users.getSession({ token, clientAddress: '', accountId }, operator);
    const claimsOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
    auth.config.requireSecondFactor = 'operators';
    try {
      const limited = await read();
      expect(limited).toMatchObject({ secondFactorMissing: true, user: { isOperator: false }, memberships: [] });
      expect(claimsOf(limited.actorToken!.token)).toMatchObject({ operator: false, roles: {} });
      expect(claimsOf((await byLink(user)).signedIn!.actorToken!.token)).toMatchObject({ operator: false, roles: {} });
      await addApp(user);
      expect(await read()).toMatchObject({
        secondFactorMissing: false,
        user: { isOperator: true },
        memberships: [{ account: { id: accountId } }],
      });
      const member = await newUser();
      const present = () => auth.users.getSession({ token: member.signedIn.token, clientAddress: '', accountId: '' }, operator);
      expect(await present()).toMatchObject({ secondFactorMissing: false });
      auth.config.requireSecondFactor = 'everyone';
      expect(await present()).toMatchObject({ secondFactorMissing: true });
      const claims = { issuer: 'https://id.example.com', subject: 'x', email: member.email, emailVerified: true, name: 'Ada' };
      const byProvider = await auth.users.signInWithIdentity({ response: identityResponse(claims), client: member.client }, operator);
      expect(await auth.users.getSession({ token: byProvider.signedIn!.token, clientAddress: '', accountId: '' }, operator)).toMatchObject({
        secondFactorMissing: false,
      });
    } finally {
      auth.config.requireSecondFactor = 'nobody';
    }
  });

  it('can be required by an account: open sessions lose it, and only it, until they have one; management keys do not', async () => {
    const user = await newUser();
    const { token } = user.signedIn;
    const [strict, other] = [await newAccount(auth.service, 'Strict'), await newAccount(auth.service, 'Other')];
    for (const { id: accountId } of [strict, other]) {
      await auth.users.putMember({ accountId, userId: user.userId, role: Role.ROLE_OWNER }, operator);
      auth.clock.advance(1);
    }
    const read = (of = token) => auth.users.getSession({ token: of, clientAddress: '', accountId: strict.id }, operator);
    const rolesOf = (jwt: string) => (JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as { roles: object }).roles;
    const both = [{ account: { id: strict.id } }, { account: { id: other.id } }];
    expect(await read()).toMatchObject({ memberships: both, secondFactorAccounts: [] });
    const require = (requireSecondFactor: boolean) =>
      auth.service.updateAccountSecurity({ accountId: strict.id, requireSecondFactor }, actingAs(user.signedIn));
    const { secret } = await auth.users.createManagementKey(
      CreateManagementKeyRequest.fromPartial({ accountId: strict.id, name: 'CI', scopes: ['keys:read'] }),
      actingAs(user.signedIn),
    );
    expect((await require(true)).account).toMatchObject({ requireSecondFactor: true });

    const limited = await read();
    expect(limited).toMatchObject({ secondFactorMissing: false, memberships: [{ account: { id: other.id } }] });
    expect(limited.secondFactorAccounts).toMatchObject([{ id: strict.id }]);
    expect(Object.keys(rolesOf(limited.actorToken!.token))).toEqual([other.id]);
    expect(Object.keys(rolesOf((await byLink(user)).signedIn!.actorToken!.token))).toEqual([other.id]);
    const secretHash = hashSecret(secret);
    expect(await auth.users.authenticateManagementKey({ secretHash, clientAddress: '' }, operator)).toMatchObject({
      membership: { account: { id: strict.id }, role: Role.ROLE_OWNER },
    });
    const claims = { issuer: 'https://id.example.com', subject: 'strict', email: user.email, emailVerified: true, name: 'Ada' };
    const byProvider = await auth.users.signInWithIdentity({ response: identityResponse(claims), client: user.client }, operator);
    expect(await read(byProvider.signedIn!.token)).toMatchObject({ memberships: both, secondFactorAccounts: [] });

    await addApp(user);
    const open = await read();
    expect(open).toMatchObject({ memberships: both, secondFactorAccounts: [] });
    expect(Object.keys(rolesOf(open.actorToken!.token)).toSorted()).toEqual([strict.id, other.id].toSorted());
    await auth.users.resetSecondFactors({ userId: user.userId, language: '' }, operator);
    expect(await read()).toMatchObject({ memberships: [{ account: { id: other.id } }] });
    await auth.service.updateAccountSecurity({ accountId: strict.id, requireSecondFactor: false }, operator);
    expect(await read()).toMatchObject({ memberships: both });
    const { events } = await auth.users.listAuditEvents(
      ListAuditEventsRequest.fromPartial({ accountId: strict.id, action: 'account.update' }),
      operator,
    );
    expect(events.map(({ detailJson, actorName }) => [actorName, (JSON.parse(detailJson) as { after: object }).after])).toEqual([
      ['operator CLI', { require_second_factor: false }],
      [user.email, { require_second_factor: true }],
    ]);
  });

  it('stay required when the key that encrypts them is lost', async () => {
    const user = await newUser();
    const { codes, secret } = await addApp(user);
    await auth.db.knex('second_factor').update({ sealed_data: '' });
    await expect(finish(await challengeOf(user), code(codeAt(secret)), user.client)).rejects.toMatchObject(refused);
    await finish(await challengeOf(user), recovery(codes[0]!), user.client);
  });
});
