// The mails to users, as plain text in English or Chinese. `language` is a BCP 47 tag; other languages get English. Names in mails were chosen by other users, and are reduced to what cannot mislead. Pure.
import { Role } from '#proto/auth/v1/users.js';
import { type MailLanguage, mailLanguage } from '#rules/mail-language.js';

/** Subject and text of a mail. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
}

const nameCharsMax = 60;

/**
 * Returns a name for use in a mail: one short line without control and direction characters, and without anything that mail programs turn into links,
 * so that invitations cannot be abused to send arbitrary texts to strangers.
 */
export function plainName(name: string): string {
  const words = name
    .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
    .replace(/[<>"/\\:@]+/g, ' ')
    .replace(/(?<=\S)[.。．｡](?=\S)/gu, '·');
  const short = [...words.replace(/ +/g, ' ').trim()].slice(0, nameCharsMax).join('').trim();
  return short === '' ? '—' : short;
}

/** The form of an address of which mail programs make no link to a page. */
export const plainAddress = /^[\p{L}\p{M}\p{N}._+'-]+@[\p{L}\p{M}\p{N}.-]+$/u;

const roles: Readonly<Record<MailLanguage, Partial<Record<Role, string>>>> = {
  en: {
    [Role.ROLE_OWNER]: 'owner',
    [Role.ROLE_ADMIN]: 'admin',
    [Role.ROLE_DEVELOPER]: 'developer',
    [Role.ROLE_BILLING]: 'billing',
    [Role.ROLE_VIEWER]: 'viewer',
    [Role.ROLE_MEMBER]: 'member',
  },
  'zh-CN': {
    [Role.ROLE_OWNER]: '所有者',
    [Role.ROLE_ADMIN]: '管理员',
    [Role.ROLE_DEVELOPER]: '开发者',
    [Role.ROLE_BILLING]: '财务',
    [Role.ROLE_VIEWER]: '查看者',
    [Role.ROLE_MEMBER]: '项目成员',
  },
};

/** Returns the mail that invites a user to an account. `byEmail` is shown only if it is verified as the inviter's. */
export function invitationMail(
  about: {
    accountName: string;
    role: Role;
    byName: string;
    byEmail: string | undefined;
    link: string;
    expiresAtMs: number;
    /** Whether the user of the address has a password; undefined if no user has it. Only this mail reveals that. */
    hasPassword: boolean | undefined;
  },
  language: string,
): MailText {
  const account = plainName(about.accountName);
  const { byEmail = '' } = about;
  const by = `${plainName(about.byName)}${plainAddress.test(byEmail) ? ` (${byEmail})` : ''}`;
  const role = roles[mailLanguage(language)][about.role] ?? '';
  const until = instant(about.expiresAtMs);
  const reader = about.hasPassword === undefined ? 'new' : about.hasPassword ? 'password' : 'none';
  return {
    en: {
      subject: `Invitation to ${account}`,
      text: lines(
        `${by} invited you to the account "${account}" with the role ${role}.`,
        '',
        `To accept the invitation, open this link before ${until}:`,
        about.link,
        '',
        {
          new: 'You do not have a password yet: choose a name and a password on the page.',
          password: 'You already have a password: choose "I have a password" on the page.',
          none: 'You already have an account, but no password: sign in first, then open the link again.',
        }[reader],
        '',
        'The link can be used once. If you did not expect this invitation, ignore this email. The sender is not notified whether you read it.',
      ),
    },
    'zh-CN': {
      subject: `邀请您加入 ${account}`,
      text: lines(
        `${by} 邀请您加入账户“${account}”，角色：${role}。`,
        '',
        `请在 ${until} 之前打开以下链接接受邀请：`,
        about.link,
        '',
        {
          new: '您还没有密码：请在页面上设置姓名和密码。',
          password: '您已有密码：请在页面上选择“我已有密码”。',
          none: '您已有账户，但没有密码：请先登录，然后再次打开此链接。',
        }[reader],
        '',
        '此链接只能使用一次。如果您并未预期收到此邀请，请忽略此邮件；发件人不会得知您是否已阅读。',
      ),
    },
  }[mailLanguage(language)];
}

/** Returns the mail with a link for a user who has forgotten their password. */
export function resetMail({ name, link, expiresAtMs }: { name: string; link: string; expiresAtMs: number }, language: string): MailText {
  const until = instant(expiresAtMs);
  return {
    en: {
      subject: 'Reset your password',
      text: lines(
        `Hello ${plainName(name)},`,
        '',
        `We received a request to reset the password for this address. To set a new password, open this link before ${until}:`,
        link,
        '',
        'The link can be used once. Setting a new password ends all your other sessions. If you did not request it, ignore this email; your password stays the same.',
      ),
    },
    'zh-CN': {
      subject: '重置密码',
      text: lines(
        `${plainName(name)}，您好：`,
        '',
        `我们收到了重置此邮箱密码的请求。请在 ${until} 之前打开以下链接设置新密码：`,
        link,
        '',
        '此链接只能使用一次。设置新密码后，您的其他会话都会退出登录。如果不是您本人的请求，请忽略此邮件，您的密码不会改变。',
      ),
    },
  }[mailLanguage(language)];
}

/** Returns the mail with a link that completes a sign-up. It has no name, because anyone may have entered it. */
export function signUpMail({ link, expiresAtMs }: { link: string; expiresAtMs: number }, language: string): MailText {
  const until = instant(expiresAtMs);
  return {
    en: {
      subject: 'Complete your sign-up',
      text: lines(
        `To complete your sign-up with this address, open this link before ${until} and enter the password that you chose:`,
        link,
        '',
        'The link can be used once. If you did not sign up, ignore this email; no account is created.',
      ),
    },
    'zh-CN': {
      subject: '完成注册',
      text: lines(
        `请在 ${until} 之前打开以下链接，并输入您设置的密码，用此邮箱完成注册：`,
        link,
        '',
        '此链接只能使用一次。如果不是您本人注册，请忽略此邮件，不会创建任何账户。',
      ),
    },
  }[mailLanguage(language)];
}

/** Returns the mail that informs a user that their address was used to sign up again. */
export function knownAddressMail({ signIn, forgot }: { signIn: string; forgot: string }, language: string): MailText {
  return {
    en: {
      subject: 'You already have an account',
      text: lines(
        'Your address was used to sign up, but you already have an account. Sign in here:',
        signIn,
        '',
        'If you have forgotten your password, reset it here:',
        forgot,
        '',
        'If you did not sign up, ignore this email; nothing was changed.',
      ),
    },
    'zh-CN': {
      subject: '您已有账户',
      text: lines(
        '有人使用您的邮箱注册，但您已有账户。请在此登录：',
        signIn,
        '',
        '如果忘记了密码，请在此重置：',
        forgot,
        '',
        '如果不是您本人的操作，请忽略此邮件，您的账户没有任何更改。',
      ),
    },
  }[mailLanguage(language)];
}

/** Returns the mail with a link that changes a user's address to the one that it is sent to. It has no name, because any user may have entered it. */
export function emailChangeMail({ link, expiresAtMs }: { link: string; expiresAtMs: number }, language: string): MailText {
  const until = instant(expiresAtMs);
  return {
    en: {
      subject: 'Confirm your new email address',
      text: lines(
        `To sign in with this address from now on, open this link before ${until}, in a browser in which you are signed in:`,
        link,
        '',
        'The link can be used once. If you did not change your address, ignore this email; nothing is changed.',
      ),
    },
    'zh-CN': {
      subject: '确认您的新邮箱',
      text: lines(
        `如需今后使用此邮箱登录，请在 ${until} 之前，在您已登录的浏览器中打开以下链接：`,
        link,
        '',
        '此链接只能使用一次。如果您没有更改邮箱，请忽略此邮件，不会有任何更改。',
      ),
    },
  }[mailLanguage(language)];
}

/** Returns the mail with a sign-in link that an operator created. */
export function signInMail({ name, link, expiresAtMs }: { name: string; link: string; expiresAtMs: number }, language: string): MailText {
  const until = instant(expiresAtMs);
  return {
    en: {
      subject: 'Your sign-in link',
      text: lines(
        `Hello ${plainName(name)},`,
        '',
        `An operator created a sign-in link for you. To sign in, open it before ${until}:`,
        link,
        '',
        'The link can be used once. You can then set a password in the settings.',
      ),
    },
    'zh-CN': {
      subject: '您的登录链接',
      text: lines(
        `${plainName(name)}，您好：`,
        '',
        `运维人员为您创建了登录链接。请在 ${until} 之前打开以下链接登录：`,
        link,
        '',
        '此链接只能使用一次。登录后，您可以在设置中设置密码。',
      ),
    },
  }[mailLanguage(language)];
}

/** Returns an instant in UTC, to the minute. */
export function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Returns the lines of a mail as its text. */
export function lines(...texts: readonly string[]): string {
  return `${texts.join('\n')}\n`;
}
