// Where people find the console, for links that are sent to them.
import type { Setting } from './settings.js';

/** The public address, without a slash at its end. */
export const publicUrl: Setting<string | undefined> = {
  env: 'TOLLGATE_PUBLIC_URL',
  description: 'address under which people reach this installation, such as https://models.example.com or https://example.com/tollgate; for links in mails and for the way back from a payment',
  default: undefined,
  parse(text) {
    const url = URL.parse(text);
    const isPlain = url !== null && (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '' && url.password === '' && !/[?#]/.test(text);
    if (!isPlain) throw new Error('must be an address such as https://models.example.com, without a query');
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  },
};
