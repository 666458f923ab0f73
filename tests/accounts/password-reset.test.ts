// A forgotten password in a running system: the mail, the new password, and what outsiders learn.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addUser, Browser, password, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { type MailServer, startMailServer } from '../support/vendors/receivers.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

const changed = 'a phrase of their own';

describe.each(modes)('a forgotten password, %s', (mode) => {
  let system: System;
  let mail: MailServer;

  beforeAll(async () => {
    mail = await startMailServer();
    system = await startSystem(mode, {
      TOLLGATE_SMTP_URL: mail.url,
      TOLLGATE_SMTP_FROM: 'people@example.com',
      TOLLGATE_GATEWAY_PUBLIC_URL: 'https://models.example.com/tollgate',
    });
    await addUser(system, 'ada@example.com', password);
  });

  afterAll(async () => {
    await system?.stop();
    await mail?.stop();
  });

  const ask = async (email: string): Promise<[number, string]> => {
    const response = await new Browser(system).ask('POST', '/password-reset', { email });
    return [response.status, await response.text()];
  };
  const mailTo = (address: string): Promise<string> =>
    eventually(() =>
      mail.mails
        .find(({ to }) => to.includes(address))
        ?.raw.replaceAll('=\r\n', '')
        .replaceAll('=3D', '='),
    );

  it('is replaced with the mailed link, and all sessions of the user end', async () => {
    expect(await new Browser(system).get('/sign-in-options')).toMatchObject({ password_reset: true });
    const ada = await signedIn(system, 'ada@example.com');
    expect(await ask('ada@example.com')).toEqual([204, '']);
    const [, token] = /https:\/\/models\.example\.com\/tollgate\/console\/reset#([\w-]{43})\s/.exec(await mailTo('ada@example.com'))!;
    const elsewhere = new Browser(system);
    expect(await elsewhere.refusal('POST', '/password-reset/finish', { token, new_password: 'short' })).toEqual([400, 'invalid_request']);
    await elsewhere.must('POST', '/password-reset/finish', { token, new_password: changed }, 204);
    expect(await elsewhere.get('/me')).toMatchObject({ user: { email: 'ada@example.com' }, session: { by_link: false } });
    expect(await ada.refusal('GET', '/me')).toEqual([401, 'session_unknown']);
    expect(await new Browser(system).refusal('POST', '/session', { email: 'ada@example.com', password })).toEqual([401, 'sign_in_refused']);
    await new Browser(system).signIn('ada@example.com', changed);
    expect(await new Browser(system).refusal('POST', '/password-reset/finish', { token, new_password: password })).toEqual([
      401,
      'sign_in_refused',
    ]);
  });

  it('gets the same response for known and unknown addresses, and is limited per network', async () => {
    await eventually(() => mail.mails.find(({ raw }) => raw.includes('Subject: Your password was reset')));
    const before = mail.mails.length;
    expect(await ask('nobody@example.com')).toEqual([204, '']);
    const answers: number[] = [];
    for (let number = 0; number < 10; number += 1) answers.push((await ask(`nobody${number}@example.com`))[0]);
    expect(new Set(answers)).toEqual(new Set([204, 429]));
    expect(mail.mails).toHaveLength(before);
  });

  it('changes the address of a user with the link that is mailed to the new one', async () => {
    await addUser(system, 'zoe@example.com', password);
    const zoe = await signedIn(system, 'zoe@example.com');
    const change = { email: 'zoe.king@example.com', current_password: password };
    expect(await zoe.must('PATCH', '/me', change, 200)).toMatchObject({ email: 'zoe@example.com', email_link_sent: true });
    const [, token] = /https:\/\/models\.example\.com\/tollgate\/console\/email#(\S+)/.exec(await mailTo('zoe.king@example.com'))!;
    expect(await new Browser(system).refusal('POST', '/me/email', { token })).toEqual([401, 'session_unknown']);
    expect(await zoe.must('POST', '/me/email', { token }, 200)).toMatchObject({ email: 'zoe.king@example.com', email_verified: true });
    expect(await zoe.refusal('POST', '/me/email', { token })).toEqual([401, 'sign_in_refused']);
    expect(await mailTo('zoe@example.com')).toContain('Subject: Your email address was changed');
  });

  it('is in the audit log, and an operator’s sign-in link for a user is mailed too', async () => {
    await addUser(system, 'ops@example.com', password, '--operator');
    const operator = await signedIn(system, 'ops@example.com');
    const { data } = await operator.get<{ data: { actor: string }[] }>('/operator/audit?action=profile.password_reset');
    expect(data).toMatchObject([{ actor: 'ada@example.com' }]);
    const { user, link } = await operator.must<{ user: { id: string }; link: { url: string; mail: { state: string } } }>(
      'POST',
      '/operator/users',
      { email: 'new@example.com' },
      201,
    );
    expect(link.mail).toEqual({ state: 'sent', words: null });
    expect(await mailTo('new@example.com')).toContain(`https://models.example.com/tollgate/console/link${new URL(link.url).hash}`);
    mail.refused.set('new@example.com', { code: 550, words: '5.1.1 no such mailbox' });
    expect(await operator.must('POST', `/operator/users/${user.id}/link`, {}, 200)).toMatchObject({
      url: expect.any(String),
      mail: { state: 'failed' },
    });
  });
});
