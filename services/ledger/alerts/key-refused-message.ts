// The texts of alerts about keys whose calls are refused, for programs and for users. Pure.
import type { MailLanguage } from '#rules/mail-language.js';
import { webhookBody } from '#rules/webhook-events.js';

/** Calls of a key that have begun to be refused. */
export interface KeyRefusedEvent {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly projectId: string;
  readonly reason: string;
  readonly sinceMs: number;
}

/** Returns the event as JSON. */
export function keyRefusedJson({ id, accountId, keyId, projectId, reason, sinceMs }: KeyRefusedEvent): string {
  return webhookBody({ id, type: 'key.refused', accountId, atMs: sinceMs, data: { key_id: keyId, project_id: projectId, reason } });
}

const sentences: Readonly<Record<MailLanguage, Readonly<Record<string, string>>>> = {
  en: {
    account_suspended: 'The account is suspended.',
    address_not_permitted: 'The key was used from an address that is not among its allowed addresses.',
    balance_empty: 'The balance does not cover the calls.',
    budget_reached: 'A budget of the key, its project or its account is used up.',
    key_disabled: 'The key is disabled.',
    key_expired: 'The key has expired.',
    key_limit_reached: 'The key has reached its spending limit.',
    key_revoked: 'The key is revoked.',
    model_not_permitted: 'The key may not call the requested model.',
  },
  'zh-CN': {
    account_suspended: '账户已被暂停。',
    address_not_permitted: '调用来自该密钥允许的地址之外。',
    balance_empty: '余额不足以支付调用。',
    budget_reached: '密钥、项目或账户的预算已用完。',
    key_disabled: '密钥已停用。',
    key_expired: '密钥已过期。',
    key_limit_reached: '密钥已达到消费上限。',
    key_revoked: '密钥已吊销。',
    model_not_permitted: '密钥无权调用所请求的模型。',
  },
};

/** Returns the subject and text of a mail. Without a public address there is no link, only directions to the page. */
export function keyRefusedMail(
  event: KeyRefusedEvent,
  publicUrl: string | undefined,
  language: MailLanguage = 'en',
): { subject: string; text: string } {
  const { id, accountId, keyId, reason, sinceMs } = event;
  const page = (path: string, words: string): string =>
    publicUrl === undefined ? words : `${publicUrl}/console/accounts/${accountId}${path}`;
  const since = new Date(sinceMs).toISOString();
  const cause = sentences[language][reason];
  const { subject, lines } = {
    en: {
      subject: `Calls with a key are being refused: ${reason}`,
      lines: [
        `Calls with key ${keyId} of account ${accountId} have been refused since ${since}.`,
        ...(cause === undefined ? [] : [cause]),
        `Error code: ${reason}`,
        '',
        `View the key: ${page(`/keys/${keyId}`, 'the console, under API keys')}`,
        '',
        'You are notified at most once per hour for the same key and error code.',
        '',
        `To change who is notified: ${page('/billing', 'the console, under Balance and billing')}`,
      ],
    },
    'zh-CN': {
      subject: `密钥的调用被拒绝：${reason}`,
      lines: [
        `自 ${since} 起，使用账户 ${accountId} 的密钥 ${keyId} 的调用被拒绝。`,
        ...(cause === undefined ? [] : [cause]),
        `错误代码：${reason}`,
        '',
        `查看密钥：${page(`/keys/${keyId}`, '控制台的“API 密钥”页面')}`,
        '',
        '同一密钥和错误代码每小时最多提醒一次。',
        '',
        `更改收件人：${page('/billing', '控制台的“余额与账单”页面')}`,
      ],
    },
  }[language];
  return { subject, text: [...lines, id, ''].join('\n') };
}
