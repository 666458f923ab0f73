// Validation of an alert's fields. Each function raises invalid_request that names the field. Pure.
import { fieldFault } from '#client/errors/fault.js';
import { isIP } from 'node:net';
import { addressFault } from '#kit/net/address-guard.js';
import { emailsMax } from './model.js';

const emailCharsMax = 254;
const urlCharsMax = 2048;

/** Returns the addresses without duplicates. */
export function checkedEmails(emails: readonly string[]): string[] {
  const addresses = [...new Set(emails.map((email) => email.trim()))];
  if (addresses.length > emailsMax) throw fieldFault('emails', 'max_emails', { max: emailsMax });
  // Rejects anything that could be read as two addresses, as a name with an address, or as a separate line.
  const isAddress = (text: string): boolean =>
    text.length <= emailCharsMax && /^[^\s@\p{Cc}<>()[\]\\,;:"]+@[^\s@\p{Cc}<>()[\]\\,;:"]+$/u.test(text);
  if (!addresses.every(isAddress)) throw fieldFault('emails', 'emails');
  return addresses;
}

/** Returns the address of a webhook in its normalized form, or an empty string. Host names are checked when the connection is made. */
export function checkedWebhookUrl(text: string, allowPrivateNetwork: boolean): string {
  if (text === '') return '';
  const field = 'webhook_url';
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw fieldFault(field, 'http_url');
  if (url.username !== '' || url.password !== '') throw fieldFault(field, 'no_credentials');
  url.hash = '';
  if (url.href.length > urlCharsMax) throw fieldFault(field, 'max_length', { max: urlCharsMax });
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  const isRefused = isIP(literal) !== 0 && addressFault(literal, allowPrivateNetwork) !== undefined;
  if (isRefused) throw fieldFault(field, 'public_address');
  return url.href;
}
