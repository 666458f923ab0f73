import { describe, expect, it } from '@jest/globals';
import { Role } from '#proto/auth/v1/users.js';
import { invitationMail, plainName } from './mail-templates.js';

describe('a name in a mail', () => {
  it.each([
    ['Acme Ltd.', 'Acme Ltd.'],
    ['Zoë 苹果', 'Zoë 苹果'],
    ['  Acme\r\nBcc: all@example.com ', 'Acme Bcc all example·com'],
    ['Win at https://evil.example.com/now', 'Win at https evil·example·com now'],
    ['www.evil.example', 'www·evil·example'],
    ['a\u202Egnp.exe\u0000b', 'a gnp·exe b'],
    ['<b>bold</b>', 'b bold b'],
    ['\u200B', '—'],
    ['x'.repeat(200), 'x'.repeat(60)],
  ])('is one short line without links: %j', (name, shown) => {
    expect(plainName(name)).toBe(shown);
  });
});

describe('an invitation by mail', () => {
  const about = {
    accountName: 'Acme\r\nX-Evil: 1',
    role: Role.ROLE_BILLING,
    byName: 'Ada',
    byEmail: 'ada@example.com',
    link: 'https://ai.example.com/console/invitation#token',
    expiresAtMs: Date.UTC(2027, 0, 31, 12),
    hasPassword: undefined,
  };

  it('names the inviter, the account and the expiry, and contains exactly one link', () => {
    const { subject, text } = invitationMail(about, 'en');
    expect(subject).toBe('Invitation to Acme X-Evil 1');
    expect(text).toContain('Ada (ada@example.com) invited you to the account "Acme X-Evil 1" with the role billing.');
    expect(text).toContain('before 2027-01-31 12:00 UTC:\nhttps://ai.example.com/console/invitation#token\n');
    expect(text.match(/https?:/g)).toHaveLength(1);
  });

  it('says whether its reader has a password here, which the page does not', () => {
    expect(invitationMail(about, 'en').text).toContain('You do not have a password yet: choose a name and a password');
    expect(invitationMail({ ...about, hasPassword: true }, 'en').text).toContain('You already have a password');
  });

  it.each(['zh', 'zh-CN', 'zh-Hant'])('is in Chinese for %s', (language) => {
    const { subject, text } = invitationMail(about, language);
    expect(subject).toBe('邀请您加入 Acme X-Evil 1');
    expect(text).toContain('“Acme X-Evil 1”，角色：财务。');
    expect(text).toContain('2027-01-31 12:00 UTC 之前打开以下链接接受邀请：\nhttps://ai.example.com/console/invitation#token\n');
  });

  it.each(['www.evil.example/win?@example.com', 'evil.example/a#@example.com', 'ada@example.com/win'])(
    'does not contain an address that is shown as a link: %s',
    (byEmail) => expect(invitationMail({ ...about, byEmail }, 'en').text).toContain('Ada invited you'),
  );

  it.each(["zoë.o'brien+work@bücher.example", 'a_b-c@example.co.uk'])('contains a usual address: %s', (byEmail) =>
    expect(invitationMail({ ...about, byEmail }, 'en').text).toContain(`Ada (${byEmail}) invited you`),
  );

  it('does not contain an unverified address of the inviter', () => {
    expect(invitationMail({ ...about, byEmail: undefined }, '').text).toContain('Ada invited you');
  });
});
