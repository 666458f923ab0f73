// The mails that report changes of a user's second factors. Pure.
import { type MailLanguage, mailLanguage } from '#rules/mail-language.js';
import { instant, type MailText, lines, plainName } from './mail-templates.js';

/** A change of a user's second factors. */
export type FactorEvent =
  | { readonly event: 'added' | 'removed'; readonly what: string }
  /** An operator has removed all of them. */
  | { readonly event: 'reset' }
  | { readonly event: 'new_codes' }
  | { readonly event: 'recovery_code'; readonly left: number };

/** Returns the mail that reports a change of a user's second factors. `language` is a BCP 47 tag. */
export function factorMail(
  { name, event, atMs, page }: { name: string; event: FactorEvent; atMs: number; page: string },
  language: string,
): MailText {
  const { subject, what } = wordsOf(event)[mailLanguage(language)];
  return {
    en: {
      subject,
      text: lines(
        `Hello ${plainName(name)},`,
        '',
        `${what} (${instant(atMs)})`,
        '',
        'If this was you, ignore this email. Otherwise, set a new password, and review your second factors and sessions:',
        page,
      ),
    },
    'zh-CN': {
      subject,
      text: lines(
        `${plainName(name)}，您好：`,
        '',
        `${what}（${instant(atMs)}）`,
        '',
        '如果是您本人的操作，请忽略此邮件。否则请设置新密码，并检查您的两步验证方式和会话：',
        page,
      ),
    },
  }[mailLanguage(language)];
}

function wordsOf(event: FactorEvent): Readonly<Record<MailLanguage, { subject: string; what: string }>> {
  switch (event.event) {
    case 'added':
      return {
        en: { subject: 'A second factor was added', what: `The second factor "${plainName(event.what)}" was added to your sign-in.` },
        'zh-CN': { subject: '已添加两步验证方式', what: `您的登录已添加两步验证方式“${plainName(event.what)}”。` },
      };
    case 'removed':
      return {
        en: { subject: 'A second factor was removed', what: `The second factor "${plainName(event.what)}" was removed from your sign-in.` },
        'zh-CN': { subject: '已移除两步验证方式', what: `您的登录已移除两步验证方式“${plainName(event.what)}”。` },
      };
    case 'reset':
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
  }
}
