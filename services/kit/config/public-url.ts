// Where people find the console, for links that services send to them: what the gateway is told, read by others too.
import type { Setting } from './settings.js';

/** The public address, without a slash at its end. */
export const publicUrl: Setting<string | undefined> = {
  env: 'TOLLGATE_GATEWAY_PUBLIC_URL',
  description:
    'where browsers reach the gateway, for example https://ai.example.com/tollgate, for links in mails; unless set, mails hold none',
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
