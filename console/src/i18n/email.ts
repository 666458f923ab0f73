// Texts of the page that changes the user's email address with an emailed link.
import { dictionary } from './text.js';

export const emailText = dictionary(
  {
    title: 'Confirm your new email address',
    about: ({ email }: { email: string }) =>
      `You are signed in as ${email}. From now on, you sign in with the address to which this link was sent.`,
    confirm: 'Change address',
    done: ({ email }: { email: string }) => `You sign in with ${email} from now on.`,
    taken: 'Another user has this address. Your address was not changed.',
    signInFirst: 'Sign in first',
    signInFirstHint: 'Sign in with your current address, then open the link again. If you did not change your address, close this page.',
    signIn: 'Sign in',
    missing: 'The link is incomplete',
    missingHint: 'Copy the whole link, including everything after the #.',
    settings: 'Settings',
  },
  {
    title: '确认您的新邮箱',
    about: ({ email }) => `您当前以 ${email} 登录。确认后，您将使用接收此链接的邮箱登录。`,
    confirm: '更改邮箱',
    done: ({ email }) => `您今后将使用 ${email} 登录。`,
    taken: '此邮箱已被其他用户使用，您的邮箱未更改。',
    signInFirst: '请先登录',
    signInFirstHint: '请用当前邮箱登录，然后再次打开此链接。如果您没有更改邮箱，请关闭此页面。',
    signIn: '登录',
    missing: '链接不完整',
    missingHint: '请复制完整的链接，包括 # 之后的所有字符。',
    settings: '设置',
  },
);
