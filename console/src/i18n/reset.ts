// Texts of a forgotten password.
import { dictionary } from './text.js';

export const resetText = dictionary(
  {
    forgotTitle: 'Set a new password',
    forgotHint: 'You get a link by mail, with which you set a new one.',
    email: 'Email address',
    send: 'Mail me a link',
    sent: 'Look into your mail',
    sentHint: ({ email }: { email: string }) =>
      `If somebody with the address ${email} is known here, a link is on its way. It can be used for an hour. At most three come within an hour.`,
    back: 'Sign in',
    resetTitle: 'Choose a new password',
    resetHint: 'You are then signed in here, and signed out everywhere else.',
    password: 'New password',
    passwordHint: 'At least 10 characters. A few words that only you would put together are better than signs.',
    set: 'Set the password',
    done: 'Your password is set',
    ended: 'The link was used already, or its time is over. Ask for a new one.',
    missing: 'The link is not whole',
    missingHint: 'Copy all of it, up to the last character behind the #.',
    again: 'Ask for a new link',
  },
  {
    forgotTitle: '设置新密码',
    forgotHint: '您会收到带链接的邮件，用它设置新密码。',
    email: '邮箱地址',
    send: '发送链接',
    sent: '请查看邮箱',
    sentHint: ({ email }) => `如果此处有使用 ${email} 的用户，链接正在发送。链接一小时内有效，每小时最多发送三封。`,
    back: '登录',
    resetTitle: '设定新密码',
    resetHint: '随后您将在此登录，并在其他所有设备退出登录。',
    password: '新密码',
    passwordHint: '至少 10 个字符。几个只有您会组合在一起的词，比符号更好。',
    set: '设置密码',
    done: '密码已设置',
    ended: '链接已被使用或已过期。请索取新的链接。',
    missing: '链接不完整',
    missingHint: '请复制完整的链接，包括 # 之后的所有字符。',
    again: '索取新链接',
  },
);
