// A change of the email address where mail can be sent: it takes effect with a link that is mailed to the new address. And the mails that report
// changes of how a user signs in.
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Mail } from '#kit/mail/mailer.js';
import { eventually } from '#kit/testing/waiting.js';
import { testEngines } from '#kit/testing/database.js';
import { CreateUserRequest, type SignedIn, SignUpRequest, UpdateProfileRequest, UpdateUserRequest } from '#proto/auth/v1/users.js';
import { identityResponse, newClient, operator, password, startTestAuth, type TestAuth } from '../../testing/auth.js';
import { TestMailer } from '../../testing/test-mailer.js';
import { emailChangeLifeMs } from '../rpcs/confirm-email.js';
import { emailLinksPerHourMax } from '../rpcs/update-profile.js';
import { mailWindowMs } from '../store/mail-budget.js';

// Each password costs a fifth of a second of a core, and more of one that others use too.
jest.setTimeout(60_000);

describe.each(testEngines)('a change of how a user signs in, with mail, on %s', (engine) => {
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

  const signIn = async (email: string, secret = password): Promise<SignedIn> =>
    (await auth.users.signIn({ email, password: secret, client: newClient() }, operator)).signedIn!;
  const added = async (email: string): Promise<SignedIn> => {
    await auth.users.createUser(CreateUserRequest.fromPartial({ email, name: 'Ada', password }), operator);
    return signIn(email);
  };
  const change = ({ session }: SignedIn, email: string) =>
    auth.users.updateProfile(
      UpdateProfileRequest.fromPartial({ sessionId: session!.id, email, currentPassword: password, updateMask: ['email'] }),
      operator,
    );
  const confirm = ({ session }: SignedIn, token: string) =>
    auth.users.confirmEmail({ sessionId: session!.id, token, language: '' }, operator);
  const mailTo = (email: string, subject: string): Promise<Mail> =>
    eventually(() => {
      auth.clock.advance(500);
      return mailer.mails.find((mail) => mail.to === email && mail.subject === subject);
    });
  const tokenTo = async (email: string): Promise<string> => {
    const { text } = await mailTo(email, 'Confirm your new email address');
    return /https:\/\/ai\.example\.com\/console\/email#(\S+)\n/.exec(text)![1]!;
  };
  const ended = { reason: 'sign_in_refused', details: { rule: 'email_link_ended' } };

  it('changes the address once the link that was mailed to it is opened, which verifies it, and tells the former address', async () => {
    const ada = await added('ada@example.com');
    expect(await change(ada, 'ada.king@example.com')).toMatchObject({ user: { email: 'ada@example.com' }, emailLinkSent: true });
    await signIn('ada@example.com');
    const token = await tokenTo('ada.king@example.com');
    expect((await confirm(ada, token)).user).toMatchObject({ email: 'ada.king@example.com', emailVerified: true });
    await signIn('ada.king@example.com');
    await expect(signIn('ada@example.com')).rejects.toMatchObject({ reason: 'sign_in_refused' });
    const { text } = await mailTo('ada@example.com', 'Your email address was changed');
    expect(text).toContain('Otherwise, contact the operator of this gateway.');
    expect(text).not.toContain('ada.king@example.com');
    await expect(confirm(ada, token)).rejects.toMatchObject(ended);
  });

  it('accepts a link once, also if the user has the former address again', async () => {
    const ben = await added('ben@example.com');
    await change(ben, 'ben2@example.com');
    const token = await tokenTo('ben2@example.com');
    await confirm(ben, token);
    const back = { userId: ben.user!.id, email: 'ben@example.com', updateMask: ['email'] };
    await auth.users.updateUser(UpdateUserRequest.fromPartial(back), operator);
    await mailTo('ben2@example.com', 'Your email address was changed');
    await expect(confirm(ben, token)).rejects.toMatchObject(ended);
  });

  it('leaves the address of another user free to its owner, who cannot confirm the change of the other user', async () => {
    const mallory = await added('mallory@example.com');
    await change(mallory, 'victim@example.com');
    const token = await tokenTo('victim@example.com');
    await auth.users.signUp(
      SignUpRequest.fromPartial({ email: 'victim@example.com', name: 'V', password, accountName: 'V', client: newClient() }),
      operator,
    );
    const { text } = await mailTo('victim@example.com', 'Complete your sign-up');
    const signUpToken = /sign-up#(\S+)/.exec(text)![1]!;
    const { signedIn } = await auth.users.signUp(
      SignUpRequest.fromPartial({ token: signUpToken, password, client: newClient() }),
      operator,
    );
    await expect(confirm(signedIn!, token)).rejects.toMatchObject({ reason: 'sign_in_refused', details: { rule: 'email_link_other' } });
    await expect(confirm(mallory, token)).rejects.toMatchObject({ reason: 'already_exists' });
    await expect(change(mallory, 'victim@example.com')).rejects.toMatchObject({ reason: 'already_exists' });
  });

  it('ends the link after a day, after another change of the address, and after a new password; none can be forged', async () => {
    const eve = await added('eve@example.com');
    await change(eve, 'eve1@example.com');
    const first = await tokenTo('eve1@example.com');
    await expect(confirm(eve, `${first.slice(0, 30)}${first[30] === 'A' ? 'B' : 'A'}${first.slice(31)}`)).rejects.toMatchObject(ended);
    await change(eve, 'eve2@example.com');
    await confirm(eve, await tokenTo('eve2@example.com'));
    await expect(confirm(eve, first)).rejects.toMatchObject(ended);

    await change(eve, 'eve3@example.com');
    const beforePassword = await tokenTo('eve3@example.com');
    await auth.users.setPassword({ sessionId: eve.session!.id, currentPassword: password, newPassword: `${password} 2` }, operator);
    await mailTo('eve2@example.com', 'Your password was changed');
    await expect(confirm(eve, beforePassword)).rejects.toMatchObject(ended);

    const ida = await added('ida@example.com');
    await change(ida, 'ida2@example.com');
    const late = await tokenTo('ida2@example.com');
    auth.clock.advance(emailChangeLifeMs);
    await expect(confirm(await signIn('ida@example.com'), late)).rejects.toMatchObject(ended);
  });

  it('mails a limited number of links for one user', async () => {
    const max = await added('max@example.com');
    for (let sent = 0; sent < emailLinksPerHourMax; sent += 1) await change(max, `stranger${sent}@example.com`);
    await expect(change(max, 'stranger@example.com')).rejects.toMatchObject({ reason: 'sign_in_throttled' });
  });

  it('tells the user about identities, and names those that can still sign in after a reset', async () => {
    const { session } = await added('zoe@example.com');
    const claims = { issuer: 'https://id.example.com', subject: 'zoe', email: 'mallory@example.net', emailVerified: true, name: '' };
    const { identity } = await auth.users.connectIdentity({ sessionId: session!.id, response: identityResponse(claims) }, operator);
    expect((await mailTo('zoe@example.com', 'An identity was connected')).text).toContain('"Test ID" (mallory@example.net)');

    await auth.users.requestPasswordReset({ email: 'zoe@example.com', client: newClient(), language: '' }, operator);
    const link = await mailTo('zoe@example.com', 'Reset your password');
    const token = /reset#(\S+)/.exec(link.text)![1]!;
    const again = (await auth.users.resetPassword({ token, newPassword: password, client: newClient(), sessionId: '' }, operator))
      .signedIn!;
    const { text } = await mailTo('zoe@example.com', 'Your password was reset');
    expect(text).toContain(
      'These identities can still sign in. Disconnect those that you do not recognise:\n- "Test ID" (mallory@example.net)\n',
    );
    expect(text).toContain('https://ai.example.com/console/forgot\n');

    await auth.users.disconnectIdentity({ sessionId: again.session!.id, identityId: identity!.id }, operator);
    await mailTo('zoe@example.com', 'An identity was disconnected');
  });
});
