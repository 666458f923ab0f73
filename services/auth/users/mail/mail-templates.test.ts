import { describe, expect, it } from '@jest/globals';
import { Role } from '#proto/auth/v1/users.js';
import { invitationLetter, plainName } from './mail-templates.js';

describe('a name in a mail', () => {
  it.each([
    ['Acme Ltd.', 'Acme Ltd.'],
    ['Zoë 苹果', 'Zoë 苹果'],
    ['  Acme\r\nBcc: all@example.com ', 'Acme Bcc all example·com'],
    ['Win at https://evil.example.com/now', 'Win at https evil·example·com now'],
    ['www.evil.example', 'www·evil·example'],
    ['a\u202Egnp.exe\u0000b', 'a gnp·exe b'],
    ['<b>bold</b>', 'b bold b'],
    ['\u200B', 'somebody'],
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
    isKnown: false,
  };

  it('names the inviter, the account and the expiry, and contains exactly one link', () => {
    const { subject, text } = invitationLetter(about);
    expect(subject).toBe('You are invited to Acme X-Evil 1');
    expect(text).toContain('Ada (ada@example.com) invites you to the account "Acme X-Evil 1" as billing.');
    expect(text).toContain('until 2027-01-31 12:00 UTC:\nhttps://ai.example.com/console/invitation#token\n');
    expect(text.match(/https?:/g)).toHaveLength(1);
  });

  it('says whether its reader has a password here, which the page does not', () => {
    expect(invitationLetter(about).text).toContain('You are new here: choose a name and a password');
    expect(invitationLetter({ ...about, isKnown: true }).text).toContain('You have a password here already');
  });

  it('does not contain an unverified address of the inviter', () => {
    expect(invitationLetter({ ...about, byEmail: undefined }).text).toContain('Ada invites you');
  });
});
