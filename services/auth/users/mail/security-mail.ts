// The mails that report changes of how a user signs in. Pure.
import type { Identity } from '#proto/auth/v1/users.js';
import { type MailLanguage, mailLanguage } from '#rules/mail-language.js';
import { instant, type MailText, lines, plainAddress, plainName } from './mail-templates.js';
import type { UserMail } from './user-mails.js';

/** An identity as a mail shows it: the name of its provider, and its email address there. */
export type ShownIdentity = Pick<Identity, 'email'> & { readonly provider: string };

/** A change of how a user signs in. */
export type SecurityEvent =
  | { readonly event: 'factor_added' | 'factor_removed'; readonly what: string }
  /** An operator has removed all second factors. */
  | { readonly event: 'factors_reset' }
  | { readonly event: 'new_codes' }
  | { readonly event: 'recovery_code'; readonly left: number }
  | { readonly event: 'password' }
  /** With the identities that can still sign in. */
  | { readonly event: 'password_reset'; readonly identities: readonly ShownIdentity[] }
  | { readonly event: 'email' }
  | { readonly event: 'connected' | 'disconnected'; readonly identity: ShownIdentity };

/** Returns the kind of the mail. Each has a limit of its own, so that many changes of one kind cannot suppress the mail about another. */
export function kindOf({ event }: SecurityEvent): UserMail['kind'] {
  switch (event) {
    case 'password':
    case 'password_reset':
      return 'password';
    case 'email':
      return 'address';
    case 'connected':
    case 'disconnected':
      return 'identity';
    default:
      return 'factor';
  }
}

/** Returns an identity for a mail: with the name of the configured provider, or the host of another one. */
export function shownIdentity(
  { issuer, email }: Pick<Identity, 'issuer' | 'email'>,
  provider: { readonly issuer: string; readonly name: string } | undefined,
): ShownIdentity {
  return { provider: provider?.issuer === issuer ? provider.name : URL.canParse(issuer) ? new URL(issuer).host : issuer, email };
}

/** Returns the mail that reports a change of how a user signs in. `language` is a BCP 47 tag. */
export function securityMail(
  { name, event, atMs, security, forgot }: { name: string; event: SecurityEvent; atMs: number; security: string; forgot: string },
  language: string,
): MailText {
  const { subject, what, more = [] } = wordsOf(event)[mailLanguage(language)];
  const [advice, page] = adviceOf(event, { security, forgot });
  return {
    en: {
      subject,
      text: lines(
        `Hello ${plainName(name)},`,
        '',
        `${what} (${instant(atMs)})`,
        ...more,
        '',
        `If this was you, ignore this email. Otherwise, ${advice.en}`,
        ...page,
      ),
    },
    'zh-CN': {
      subject,
      text: lines(
        `${plainName(name)}，您好：`,
        '',
        `${what}（${instant(atMs)}）`,
        ...more,
        '',
        `如果是您本人的操作，请忽略此邮件。否则${advice['zh-CN']}`,
        ...page,
      ),
    },
  }[mailLanguage(language)];
}

/** Returns what users should do about a change that they did not make, and the page for it. */
function adviceOf(
  { event }: SecurityEvent,
  { security, forgot }: { security: string; forgot: string },
): [advice: Record<MailLanguage, string>, page: readonly string[]] {
  // The user can no longer sign in, or request a new password, with this address.
  if (event === 'email') return [{ en: 'contact the operator of this gateway.', 'zh-CN': '请联系此网关的运维人员。' }, []];
  if (event === 'password' || event === 'password_reset')
    return [
      {
        en: 'set a new password, and then review your identities, second factors and sessions in the settings:',
        'zh-CN': '请重新设置密码，然后在设置中检查您关联的身份、两步验证方式和会话：',
      },
      [forgot],
    ];
  return [
    {
      en: 'set a new password, and review your identities, second factors and sessions:',
      'zh-CN': '请设置新密码，并检查您关联的身份、两步验证方式和会话：',
    },
    [security],
  ];
}

interface Words {
  readonly subject: string;
  readonly what: string;
  readonly more?: readonly string[];
}

function wordsOf(event: SecurityEvent): Readonly<Record<MailLanguage, Words>> {
  switch (event.event) {
    case 'factor_added':
      return {
        en: { subject: 'A second factor was added', what: `The second factor "${plainName(event.what)}" was added to your sign-in.` },
        'zh-CN': { subject: '已添加两步验证方式', what: `您的登录已添加两步验证方式“${plainName(event.what)}”。` },
      };
    case 'factor_removed':
      return {
        en: { subject: 'A second factor was removed', what: `The second factor "${plainName(event.what)}" was removed from your sign-in.` },
        'zh-CN': { subject: '已移除两步验证方式', what: `您的登录已移除两步验证方式“${plainName(event.what)}”。` },
      };
    case 'factors_reset':
      return {
        en: { subject: 'Your second factors were removed', what: 'An operator removed all second factors from your sign-in.' },
        'zh-CN': { subject: '您的两步验证已被移除', what: '运维人员已移除您的所有两步验证方式。' },
      };
    case 'new_codes':
      return {
        en: { subject: 'New recovery codes were created', what: 'New recovery codes were created, and the previous ones stopped working.' },
        'zh-CN': { subject: '已生成新的恢复码', what: '已生成新的恢复码，之前的恢复码已失效。' },
      };
    case 'recovery_code':
      return {
        en: {
          subject: 'A recovery code was used',
          what: `A recovery code was used in place of your second factor. Recovery codes left: ${event.left}.`,
        },
        'zh-CN': { subject: '已使用恢复码', what: `有人使用恢复码完成了您的两步验证。恢复码剩余 ${event.left} 个。` },
      };
    case 'password':
      return {
        en: { subject: 'Your password was changed', what: 'A new password was set, and all other sessions were signed out.' },
        'zh-CN': { subject: '您的密码已更改', what: '已设置新密码，其他会话均已退出登录。' },
      };
    case 'password_reset':
      return {
        en: {
          subject: 'Your password was reset',
          what: 'A new password was set with a link that was emailed to this address, and all sessions were signed out.',
          more: withIdentities('These identities can still sign in. Disconnect those that you do not recognise:', event.identities),
        },
        'zh-CN': {
          subject: '您的密码已重置',
          what: '已通过发送到此邮箱的链接设置新密码，所有会话均已退出登录。',
          more: withIdentities('以下身份仍可登录，请取消关联您不认识的身份：', event.identities),
        },
      };
    case 'email':
      return {
        en: { subject: 'Your email address was changed', what: 'You sign in with another email address from now on.' },
        'zh-CN': { subject: '您的邮箱已更改', what: '您今后将使用另一个邮箱登录。' },
      };
    case 'connected':
      return {
        en: { subject: 'An identity was connected', what: `The identity ${plainIdentity(event.identity)} can now sign in as you.` },
        'zh-CN': { subject: '已关联身份', what: `身份 ${plainIdentity(event.identity)} 现在可以以您的名义登录。` },
      };
    case 'disconnected':
      return {
        en: {
          subject: 'An identity was disconnected',
          what: `The identity ${plainIdentity(event.identity)} can no longer sign in as you.`,
        },
        'zh-CN': { subject: '已取消关联身份', what: `身份 ${plainIdentity(event.identity)} 不能再以您的名义登录。` },
      };
  }
}

function withIdentities(heading: string, identities: readonly ShownIdentity[]): string[] {
  return identities.length === 0 ? [] : ['', heading, ...identities.map((identity) => `- ${plainIdentity(identity)}`)];
}

function plainIdentity({ provider, email }: ShownIdentity): string {
  return `"${plainName(provider)}"${plainAddress.test(email) ? ` (${email})` : ''}`;
}
