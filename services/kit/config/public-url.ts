// The public address of the console, for links in mails: a setting of the gateway that other services read too.
import type { Setting } from './settings.js';

/** The public address, without a trailing slash. */
export const publicUrl: Setting<string | undefined> = {
  env: 'TOLLGATE_GATEWAY_PUBLIC_URL',
  description:
    'where browsers reach the gateway, for example https://ai.example.com/tollgate, for links in emails; if unset, emails contain no links',
  default: undefined,
  parse(text) {
    const url = URL.parse(text);
    const isPlain =
      url !== null &&
      (url.protocol === 'https:' || url.protocol === 'http:') &&
      url.username === '' &&
      url.password === '' &&
      !/[?#]/.test(text);
    if (!isPlain) throw new Error('must be an address such as https://models.example.com, without a query');
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  },
};
