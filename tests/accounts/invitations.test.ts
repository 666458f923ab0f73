// Invitations by mail in a running system: what arrives, where its link leads, and that an unavailable mail server does no harm.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'node:http';
import { addMember, Browser, password, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { type MailServer, startMailServer } from '../support/vendors/receivers.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface Invited {
  invitation: { id: string; email: string; mail: { state: string; words: string | null } };
  token: string;
}

describe.each(modes)('invitations by mail, %s', (mode) => {
  let system: System;
  let mail: MailServer;
  let owner: Browser;
  let account: string;

  beforeAll(async () => {
    mail = await startMailServer();
    system = await startSystem(mode, {
      TOLLGATE_SMTP_URL: mail.url,
      TOLLGATE_SMTP_FROM: 'Tollgate <people@example.com>',
      TOLLGATE_GATEWAY_PUBLIC_URL: 'https://models.example.com/tollgate/',
      TOLLGATE_AUTH_NOTIFICATION_RETRY: '100ms',
      TOLLGATE_AUTH_NOTIFICATION_INTERVAL: '50ms',
    });
    const { id } = await system.json<{ id: string }>('account', 'create', 'Acme, see www.evil.example');
    account = `/accounts/${id}`;
    await addMember(system, id, 'owner@example.com', 'owner', '--name', 'Olga');
    owner = await signedIn(system, 'owner@example.com');
  });

  afterAll(async () => {
    await system?.stop();
    await mail?.stop();
  });

  const invite = (email: string): Promise<Invited> => owner.must<Invited>('POST', `${account}/invitations`, { email, role: 'viewer' }, 201);
  const standing = async (email: string): Promise<Invited['invitation']['mail'] | undefined> =>
    (await owner.get<{ data: Invited['invitation'][] }>(`${account}/invitations`)).data.find((each) => each.email === email)?.mail;
  const until = (email: string, state: string, timeoutMs?: number): Promise<Invited['invitation']['mail']> =>
    eventually(async () => {
      const found = await standing(email);
      return found?.state === state ? found : undefined;
    }, timeoutMs);
  /** Decodes quoted-printable (RFC 2045). */
  const text = (raw: string): string =>
    Buffer.from(
      raw.replaceAll('=\r\n', '').replace(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
      'latin1',
    ).toString();

  it('arrive with a link with which the invited user joins', async () => {
    const { invitation, token } = await invite('vera@example.com');
    expect(invitation.mail).toEqual({ state: 'sent', words: null });
    expect(mail.mails).toHaveLength(1);
    const [{ to, raw }] = mail.mails as [(typeof mail.mails)[0]];
    expect(to).toEqual(['vera@example.com']);
    expect(raw).toContain('From: Tollgate <people@example.com>');
    expect(raw).toMatch(/Content-Type: text\/plain/);
    expect(raw).not.toMatch(/text\/html|<img|www\.evil/i);
    expect(text(raw)).toContain('Olga (owner@example.com) invited you');
    const [, mailed] = /https:\/\/models\.example\.com\/tollgate\/console\/invitation#([\w-]{43})\s/.exec(text(raw))!;
    expect(mailed).toBe(token);
    const vera = new Browser(system);
    await vera.must('POST', '/invitation/accept', { token: mailed, name: 'Vera', password }, 204);
    expect(await vera.get('/me')).toMatchObject({ user: { email: 'vera@example.com' }, accounts: [{ role: 'viewer' }] });
  });

  it('link to the configured address, whatever host a request names, and are in the language of the console', async () => {
    const before = mail.mails.length;
    const { hostname, port } = new URL(system.baseUrl);
    const cookie = await cookieOf('owner@example.com');
    const body = JSON.stringify({ email: 'host@example.com', role: 'viewer' });
    const status = await new Promise<number>((resolve, reject) => {
      const headers = {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        cookie,
        'accept-language': 'zh-CN,en;q=0.5',
        'content-type': 'application/json',
        'x-tollgate-console': '1',
      };
      const asked = request({ hostname, port, method: 'POST', path: `/console/api${account}/invitations`, headers }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      asked.on('error', reject);
      asked.end(body);
    });
    expect(status).toBe(201);
    await until('host@example.com', 'sent');
    expect(mail.mails).toHaveLength(before + 1);
    expect(mail.mails.at(-1)!.raw).not.toContain('evil.example');
    const words = text(mail.mails.at(-1)!.raw);
    expect(words).toContain('https://models.example.com/tollgate/console/invitation#');
    expect(words).toMatch(/Olga.*邀请您加入账户/);
  });

  async function cookieOf(email: string): Promise<string> {
    const response = await fetch(`${system.baseUrl}/console/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-tollgate-console': '1' },
      body: JSON.stringify({ email, password }),
    });
    return response.headers.getSetCookie()[0]!.split(';')[0]!;
  }

  it('report when an address is rejected, and are retried when the server is busy; the link works in the meantime', async () => {
    mail.refused.set('nobody@example.com', { code: 550, words: '5.1.1 no such mailbox' });
    const nobody = await invite('nobody@example.com');
    expect(nobody.invitation.mail).toMatchObject({ state: 'failed', words: expect.stringContaining('no such mailbox') });
    await new Browser(system).must('POST', '/invitation', { token: nobody.token }, 200);

    mail.refused.set('busy@example.com', { code: 451, words: '4.7.1 come back later' });
    const busy = await invite('busy@example.com');
    expect(busy.invitation.mail.state).toBe('pending');
    mail.refused.delete('busy@example.com');
    await until('busy@example.com', 'sent');
    expect(mail.mails.filter(({ to }) => to.includes('busy@example.com'))).toHaveLength(1);
  });

  it('are mailed after everything was killed before the mail server accepted them', async () => {
    mail.refused.set('lost@example.com', { code: 451, words: '4.7.1 come back later' });
    const { token } = await invite('lost@example.com');
    await system.kill();
    await system.start();
    mail.refused.delete('lost@example.com');
    // If the kill happened during an attempt, the next attempt waits until the claim of that one expires, after 50 seconds.
    await until('lost@example.com', 'sent', 90_000);
    expect(mail.mails.filter(({ to }) => to.includes('lost@example.com'))).toHaveLength(1);
    await new Browser(system).must('POST', '/invitation', { token }, 200);
  });

  it('are refused for text that adds a header, or that mail programs read as several addresses', async () => {
    const before = mail.mails.length;
    for (const email of ['a@example.com\r\nBcc: b@example.com', 'a,b@example.com', 'a@example.com, b@example.com'])
      expect(await owner.refusal('POST', `${account}/invitations`, { email, role: 'viewer' })).toEqual([400, 'invalid_request']);
    await invite('after@example.com');
    await eventually(async () => ((await standing('after@example.com'))?.state === 'pending' ? undefined : true));
    expect(mail.mails.slice(before).map(({ to }) => to)).toEqual([['after@example.com']]);
  });

  it('are limited per account; further invitations are created but not mailed', async () => {
    const before = mail.mails.length;
    const states: string[] = [];
    for (let number = 0; number < 22; number += 1) states.push((await invite(`many${number}@example.com`)).invitation.mail.state);
    expect(mail.mails.length - before).toBeLessThan(20);
    expect(states.at(-1)).toBe('failed');
    expect(await standing('many21@example.com')).toEqual({ state: 'failed', words: 'too many emails were sent within an hour' });
  });
});
