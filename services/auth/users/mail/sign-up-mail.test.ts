// Sign-up where mail can be sent: the response does not reveal who has an account, and the mail reveals it only to the owner of the address.
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Mail } from '#kit/mail/mailer.js';
import { eventually } from '#kit/testing/waiting.js';
import { testEngines } from '#kit/testing/database.js';
import { CreateUserRequest, Role, SignUpRequest } from '#proto/auth/v1/users.js';
import { newClient, operator, password, startTestAuth, type TestAuth } from '../../testing/auth.js';
import { TestMailer } from '../../testing/test-mailer.js';
import { signUpLifeMs } from '../rpcs/sign-up.js';
import { mailWindowMs } from '../store/mail-budget.js';

// Each password costs a fifth of a second of a core, and more of one that others use too.
jest.setTimeout(60_000);

describe.each(testEngines)('a sign-up that is finished by mail on %s', (engine) => {
  let auth: TestAuth;
  const mailer = new TestMailer();
  beforeAll(async () => {
    auth = await startTestAuth(engine, { mailer, publicUrl: 'https://ai.example.com' });
  });
  afterEach(() => {
    mailer.mails = [];
    auth.clock.advance(mailWindowMs);
  });
  afterAll(() => auth.stop());

  const signUp = (email: string) =>
    auth.users.signUp(SignUpRequest.fromPartial({ email, name: 'Eve', password, accountName: 'Eve’s', client: newClient() }), operator);
  const finish = (token: string, entered = password) =>
    auth.users.signUp(SignUpRequest.fromPartial({ token, password: entered, client: newClient() }), operator);
  const mailTo = (email: string): Promise<Mail> =>
    eventually(() => {
      auth.clock.advance(500);
      return mailer.mails.find(({ to }) => to === email);
    });
  const tokenIn = ({ text }: Mail): string => /https:\/\/ai\.example\.com\/console\/sign-up#(\S+)/.exec(text)![1]!;
  const refused = { reason: 'sign_in_refused' };

  it('gets the same response for an address that a user has and for one that none has; only the mails differ', async () => {
    await auth.users.createUser(CreateUserRequest.fromPartial({ email: 'ada@example.com', name: 'Ada', password }), operator);
    const [known, unknown] = [await signUp('ada@example.com'), await signUp('eve@example.com')];
    expect(known).toEqual(unknown);
    expect(unknown).toEqual({ signedIn: undefined, account: undefined });
    const { subject, text } = await mailTo('ada@example.com');
    expect(subject).toBe('You already have an account');
    expect(text).toContain('https://ai.example.com/console/sign-in\n');
    expect(text).not.toContain('sign-up#');
    expect(tokenIn(await mailTo('eve@example.com'))).toMatch(/^[\w.-]{100,2000}$/);
    // Without the link, nothing was created.
    await expect(auth.users.signIn({ email: 'eve@example.com', password, client: newClient() }, operator)).rejects.toMatchObject(refused);
  });

  it('creates the user, with a verified address and an account, once', async () => {
    await signUp('Ida@Example.com');
    const token = tokenIn(await mailTo('ida@example.com'));
    const { signedIn, account } = await finish(token);
    expect(signedIn!.user).toMatchObject({ email: 'ida@example.com', name: 'Eve', emailVerified: true });
    const session = await auth.users.getSession({ token: signedIn!.token, clientAddress: '', accountId: '' }, operator);
    expect(session.memberships).toMatchObject([{ account: { id: account!.id, name: 'Eve’s' }, role: Role.ROLE_OWNER }]);
    await expect(finish(token)).rejects.toMatchObject(refused);
    await auth.users.signIn({ email: 'ida@example.com', password, client: newClient() }, operator);
  });

  it('creates no user with a password that another client chose for the address', async () => {
    await signUp('victim@example.com');
    const token = tokenIn(await mailTo('victim@example.com'));
    for (const entered of ['', 'their own password']) await expect(finish(token, entered)).rejects.toMatchObject(refused);
    await expect(auth.users.signIn({ email: 'victim@example.com', password, client: newClient() }, operator)).rejects.toMatchObject(
      refused,
    );
    await finish(token);
  });

  it('ends after a day, and no link can be forged', async () => {
    await signUp('late@example.com');
    const token = tokenIn(await mailTo('late@example.com'));
    for (const at of [0, 20, 40, token.length - 4]) {
      const forged = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
      await expect(finish(forged)).rejects.toMatchObject(refused);
    }
    await expect(finish('x')).rejects.toMatchObject(refused);
    auth.clock.advance(signUpLifeMs);
    await expect(finish(token)).rejects.toMatchObject(refused);
  });
});
