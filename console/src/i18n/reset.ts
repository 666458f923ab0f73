// Texts of the password reset.
import { dictionary } from './text.js';

export const resetText = dictionary(
  {
    forgotTitle: 'Set a new password',
    forgotHint: 'You get an email with a link to set a new password.',
    email: 'Email address',
    send: 'Email me a link',
    sent: 'Check your email',
    sentHint: ({ email }: { email: string }) =>
      `If a user has the address ${email}, a link is on its way. It is valid for one hour. At most three links are sent per hour.`,
    back: 'Sign in',
    resetTitle: 'Choose a new password',
    resetHint: 'You will be signed in here and signed out everywhere else.',
    password: 'New password',
    passwordHint: 'At least 10 characters. Several unrelated words make a good password.',
    set: 'Set password',
    done: 'Password set',
    ended: 'The link was already used or has expired. Request a new one.',
    missing: 'The link is incomplete',
    missingHint: 'Copy the whole link, including everything after the #.',
    again: 'Request a new link',
  },
  {
    forgotTitle: '设置新密码',
    forgotHint: '您会收到一封邮件，请通过其中的链接设置新密码。',
    email: '邮箱地址',
    send: '发送链接',
    sent: '请查看邮箱',
    sentHint: ({ email }) => `如果有用户使用 ${email}，该邮箱会收到链接。链接一小时内有效，每小时最多发送三封。`,
    back: '登录',
    resetTitle: '设置新密码',
    resetHint: '您将在此处登录，其他所有设备都会退出登录。',
    password: '新密码',
    passwordHint: '至少 10 个字符。建议使用几个互不相关的词。',
    set: '设置密码',
    done: '密码已设置',
    ended: '链接已被使用或已过期，请重新获取。',
    missing: '链接不完整',
    missingHint: '请复制完整的链接，包括 # 之后的所有字符。',
    again: '重新获取链接',
  },
);
