// A forgotten password: a mailed link that works once and for an hour, and does not reveal who has an account; and an operator's link by mail.
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Mail, MailFailure } from '#kit/mail/mailer.js';
import { testEngines } from '#kit/testing/database.js';
import { eventually } from '#kit/testing/waiting.js';
import { NotificationState } from '#proto/auth/v1/notifications.js';
import { CreateUserRequest, Role, type SignedIn, SignInMethod, UpdateUserRequest, type User } from '#proto/auth/v1/users.js';
import { identityResponse, newAccount, newClient, operator, password, startTestAuth, type TestAuth } from '../../testing/auth.js';
import { TestMailer } from '../../testing/test-mailer.js';
import { resetLifeMs, resetsPerHourMax } from '../rpcs/request-password-reset.js';
import { mailWindowMs } from '../store/mail-budget.js';
import { attemptsMax, failuresMax } from '../passwords/throttle.js';

const changed = 'a phrase of their own';
// Each password costs a fifth of a second of a core, and more of one that others use too.
jest.setTimeout(60_000);

describe.each(testEngines)('a forgotten password on %s', (engine) => {
  let auth: TestAuth;
  const mailer = new TestMailer();
  beforeAll(async () => {
    auth = await startTestAuth(engine, { mailer, publicUrl: 'https://ai.example.com' });
  });
  afterEach(() => {
    mailer.mails = [];
    mailer.failures = [];
    auth.clock.advance(mailWindowMs);
  });
  afterAll(() => auth.stop());

  const add = async (email: string): Promise<User> =>
    (await auth.users.createUser(CreateUserRequest.fromPartial({ email, name: 'Ada', password }), operator)).user!;
  const signIn = async (email: string, secret = password, from = newClient()): Promise<SignedIn> =>
    (await auth.users.signIn({ email, password: secret, client: from }, operator)).signedIn!;
  const requestReset = (email: string, from = newClient()) =>
    auth.users.requestPasswordReset({ email, client: from, language: '' }, operator);
  const reset = async (token: string, newPassword = changed, from = newClient()): Promise<SignedIn> =>
    (await auth.users.resetPassword({ token, newPassword, client: from, sessionId: '' }, operator)).signedIn!;
  const sessionOf = (token: string) => auth.users.getSession({ token, clientAddress: '', accountId: '' }, operator);
  const refused = { reason: 'sign_in_refused' };

  async function arrived(count: number): Promise<Mail[]> {
    for (let tries = 0; tries < 300 && mailer.mails.length < count; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      if (mailer.failures.length === 0) auth.clock.advance(500);
    }
    // More than were waited for would come now.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(mailer.mails).toHaveLength(count);
    return mailer.mails;
  }
  const tokenOf = ({ text }: Mail): string => /https:\/\/ai\.example\.com\/console\/reset#([\w-]{43})\n/.exec(text)![1]!;
  async function requestedToken(email: string): Promise<string> {
    mailer.mails = [];
    await requestReset(email);
    return tokenOf((await arrived(1))[0]!);
  }

  it('is replaced once through a mailed link, which ends all sessions and begins one', async () => {
    await add('ada@example.com');
    const before = await signIn('ada@example.com');
    const { token: link } = await auth.users.createSignInLink({ email: 'ada@example.com', sendMail: false, language: '' }, operator);
    await requestReset('ADA@example.com');
    const [mail] = await arrived(1);
    expect(mail).toMatchObject({ to: 'ada@example.com', subject: 'Reset your password' });
    const token = tokenOf(mail!);
    await expect(reset(token, 'short')).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'new_password' } });
    const signedIn = await reset(token);
    expect(await sessionOf(signedIn.token)).toMatchObject({
      user: { email: 'ada@example.com' },
      session: { method: SignInMethod.SIGN_IN_METHOD_PASSWORD },
    });
    await expect(sessionOf(before.token)).rejects.toMatchObject({ reason: 'session_unknown' });
    await expect(auth.users.redeemSignInLink({ token: link, client: newClient() }, operator)).rejects.toMatchObject(refused);
    await expect(signIn('ada@example.com')).rejects.toMatchObject(refused);
    await signIn('ada@example.com', changed);
    await expect(reset(token)).rejects.toMatchObject(refused);
  });

  it('disconnects no identity of a user whose address is verified', async () => {
    await add('connected@example.com');
    const claims = { issuer: 'https://id.example.com', subject: 'own', email: 'own@example.com', emailVerified: true, name: 'Ada' };
    const response = identityResponse(claims);
    const { session } = await signIn('connected@example.com');
    await auth.users.connectIdentity({ sessionId: session!.id, response }, operator);
    await reset(await requestedToken('connected@example.com'));
    const { signedIn } = await auth.users.signInWithIdentity({ response, client: newClient() }, operator);
    expect(signedIn!.user!.email).toBe('connected@example.com');
  });

  it('is set by only one of many concurrent uses of a link', async () => {
    await add('race@example.com');
    const token = await requestedToken('race@example.com');
    const outcomes = await Promise.allSettled(['one', 'two', 'three'].map((each) => reset(token, `a phrase of number ${each}`)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('gets the same response for every address, and no mail for unknown or disabled users', async () => {
    const gone = await add('gone@example.com');
    await auth.users.updateUser(
      UpdateUserRequest.fromPartial({ userId: gone.id, isDisabled: true, updateMask: ['is_disabled'] }),
      operator,
    );
    await add('here@example.com');
    expect(await Promise.all(['nobody@example.com', 'gone@example.com', 'here@example.com'].map((email) => requestReset(email)))).toEqual([
      {},
      {},
      {},
    ]);
    expect((await arrived(1)).map(({ to }) => to)).toEqual(['here@example.com']);
    await expect(requestReset('no address')).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'email' } });
  });

  it('links end after an hour, and when the address or password changes or the user is disabled', async () => {
    const user = await add('many@example.com');
    const late = await requestedToken('many@example.com');
    auth.clock.advance(resetLifeMs);
    await expect(reset(late)).rejects.toMatchObject(refused);

    const moved = await requestedToken('many@example.com');
    await auth.users.updateUser(
      UpdateUserRequest.fromPartial({ userId: user.id, email: 'moved@example.com', updateMask: ['email'] }),
      operator,
    );
    await expect(reset(moved)).rejects.toMatchObject(refused);

    const overtaken = await requestedToken('moved@example.com');
    const { session } = await signIn('moved@example.com');
    await auth.users.setPassword({ sessionId: session!.id, currentPassword: password, newPassword: changed }, operator);
    await expect(reset(overtaken)).rejects.toMatchObject(refused);

    const disabled = await requestedToken('moved@example.com');
    await auth.users.updateUser(
      UpdateUserRequest.fromPartial({ userId: user.id, isDisabled: true, updateMask: ['is_disabled'] }),
      operator,
    );
    await expect(reset(disabled)).rejects.toMatchObject(refused);
    await auth.users.updateUser(UpdateUserRequest.fromPartial({ userId: user.id, updateMask: ['is_disabled'] }), operator);
    await expect(reset(disabled)).rejects.toMatchObject(refused);
  });

  it('can be requested three times an hour by anyone, without ending links that were sent before', async () => {
    await add('asked@example.com');
    for (let number = 0; number < resetsPerHourMax + 3; number += 1) await requestReset('asked@example.com');
    const tokens = (await arrived(resetsPerHourMax)).map(tokenOf);
    await reset(tokens[0]!);
    // With the password that is set the others end.
    await expect(reset(tokens[1]!)).rejects.toMatchObject(refused);
    // Nor does it fill the table.
    expect(await auth.db.knex('password_reset').where({ email: 'asked@example.com' }).select()).toHaveLength(0);
  });

  it('can be requested ten times from one network, for any users', async () => {
    const from = newClient();
    for (let number = 0; number < attemptsMax.passwordReset; number += 1) await requestReset(`stranger${number}@example.com`, from);
    await expect(requestReset('stranger@example.com', from)).rejects.toMatchObject({ reason: 'sign_in_throttled' });
    await requestReset('stranger@example.com');
    await arrived(0);
  });

  it('signs in a user who is locked out, and disconnects identities that others connected through an unverified address', async () => {
    const host = await add('host@example.com');
    const account = await newAccount(auth.service, 'Host');
    await auth.users.putMember({ accountId: account.id, userId: host.id, role: Role.ROLE_OWNER }, operator);
    const invitation = {
      accountId: account.id,
      email: 'victim@example.com',
      role: Role.ROLE_VIEWER,
      invitedByUserId: host.id,
      projectRoles: [],
      language: '',
    };
    const { token: invited } = await auth.users.createInvitation(invitation, operator);
    await arrived(1);
    mailer.mails = [];
    const { signedIn } = await auth.users.acceptInvitation(
      { token: invited, name: 'Not the victim', password, client: newClient(), sessionId: '' },
      operator,
    );
    const mallorys = identityResponse({
      issuer: 'https://id.example.com',
      subject: 'mallory',
      email: 'mallory@example.com',
      emailVerified: true,
      name: 'M',
    });
    await auth.users.connectIdentity({ sessionId: signedIn!.session!.id, response: mallorys }, operator);
    const home = newClient();
    for (let attempt = 0; attempt < failuresMax.email; attempt += 1)
      await signIn('victim@example.com', 'a wrong guess', home).catch(() => undefined);
    await expect(signIn('victim@example.com', password, home)).rejects.toMatchObject({ reason: 'sign_in_throttled' });
    await reset(await requestedToken('victim@example.com'), changed, home);
    await signIn('victim@example.com', changed, home);
    auth.config.signUp = false;
    await expect(auth.users.signInWithIdentity({ response: mallorys, client: newClient() }, operator)).rejects.toMatchObject(refused);
    await expect(sessionOf(signedIn!.token)).rejects.toMatchObject({ reason: 'session_unknown' });
  });

  it('links are retried, and appear in no row and no log line', async () => {
    await add('secret@example.com');
    mailer.failures = [new MailFailure('454 not now', false)];
    const token = await requestedToken('secret@example.com');
    const rows: Record<string, unknown>[] = await auth.db.knex('password_reset').where({ email: 'secret@example.com' }).select();
    expect(rows).toHaveLength(1);
    expect(
      rows
        .flatMap((row) => Object.values(row))
        .map((cell) => (Buffer.isBuffer(cell) ? cell.toString('latin1') : String(cell)))
        .join('\n'),
    ).not.toContain(token);
    expect(auth.logLines.join('')).not.toContain(token);
    await reset(token);
  });

  it('links are not mailed once they have ended', async () => {
    const email = 'ended@example.com';
    await add(email);
    const { session } = await signIn(email);
    mailer.failures = [new MailFailure('454 not now', false), new MailFailure('454 not now', false)];
    await requestReset(email);
    await eventually(() => (mailer.failures.length === 1 ? true : undefined));
    await auth.users.createSignInLink({ email, sendMail: true, language: '' }, operator);
    await auth.users.setPassword({ sessionId: session!.id, currentPassword: password, newPassword: changed }, operator);
    auth.clock.advance(60_000);
    const states = async () => {
      const links = auth.db.knex('notification').where({ destination: email }).whereNot('depends_on', 'like', 'password %');
      const rows = (await links.select('state')) as { state: unknown }[];
      return rows.map(({ state }) => Number(state));
    };
    const withdrawn = NotificationState.NOTIFICATION_STATE_WITHDRAWN;
    await eventually(async () => ((await states()).every((state) => state === withdrawn) ? true : undefined));
    expect(await states()).toHaveLength(2);
    expect((await arrived(1))[0]!.subject).toBe('Your password was changed');
  });

  it('an operator’s link is mailed on request, and the displayed link works too', async () => {
    await add('linked@example.com');
    expect(await auth.users.createSignInLink({ email: 'linked@example.com', sendMail: false, language: '' }, operator)).toMatchObject({
      mailState: NotificationState.NOTIFICATION_STATE_UNSPECIFIED,
    });
    const { token, mailState } = await auth.users.createSignInLink({ email: 'linked@example.com', sendMail: true, language: '' }, operator);
    expect(mailState).toBe(NotificationState.NOTIFICATION_STATE_DELIVERED);
    expect((await arrived(1))[0]).toMatchObject({
      to: 'linked@example.com',
      subject: 'Your sign-in link',
      text: expect.stringContaining(`https://ai.example.com/console/link#${token}\n`),
    });
    await auth.users.redeemSignInLink({ token, client: newClient() }, operator);
    mailer.failures = [new MailFailure('no such mailbox', true)];
    expect(await auth.users.createSignInLink({ email: 'linked@example.com', sendMail: true, language: '' }, operator)).toMatchObject({
      mailState: NotificationState.NOTIFICATION_STATE_FAILED,
      mailError: 'no such mailbox',
    });
  });

  it('is reported as unavailable if no mail can be sent', async () => {
    expect(await auth.users.getSignInOptions({}, operator)).toMatchObject({ passwordReset: true });
    const mute = await startTestAuth(engine);
    try {
      expect(await mute.users.getSignInOptions({}, operator)).toMatchObject({ passwordReset: false });
      await mute.users.createUser(CreateUserRequest.fromPartial({ email: 'ada@example.com', name: 'Ada', password }), operator);
      expect(await mute.users.requestPasswordReset({ email: 'ada@example.com', client: newClient(), language: '' }, operator)).toEqual({});
    } finally {
      await mute.stop();
    }
    expect(mailer.mails).toEqual([]);
  });
});
