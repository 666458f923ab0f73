// Validation of an alert's fields. Each function raises invalid_request that names the field. Pure.
import { isIP } from 'node:net';
import { addressFault } from '#kit/net/address-guard.js';
import { invalidField } from '../requests/fields.js';
import { emailsMax } from './model.js';

const emailCharsMax = 254;
const urlCharsMax = 2048;

/** Returns the addresses without duplicates. */
export function checkedEmails(emails: readonly string[]): string[] {
  const addresses = [...new Set(emails.map((email) => email.trim()))];
  if (addresses.length > emailsMax) throw invalidField('emails', `at most ${emailsMax} addresses`);
  // Rejects anything that could be read as two addresses, as a name with an address, or as a separate line.
  const isAddress = (text: string): boolean =>
    text.length <= emailCharsMax && /^[^\s@\p{Cc}<>()[\]\\,;:"]+@[^\s@\p{Cc}<>()[\]\\,;:"]+$/u.test(text);
  if (!addresses.every(isAddress)) throw invalidField('emails', 'e-mail addresses such as ada@example.com');
  return addresses;
}

/** Returns the address of a webhook in its normalized form, or an empty string. Host names are checked when the connection is made. */
export function checkedWebhookUrl(text: string, allowPrivateNetwork: boolean): string {
  if (text === '') return '';
  const refuse = (rule: string): Error => invalidField('webhook_url', rule);
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw refuse('an address such as https://example.com/hooks/balance');
  if (url.username !== '' || url.password !== '') throw refuse('without user and password; verify the signature instead');
  url.hash = '';
  if (url.href.length > urlCharsMax) throw refuse(`at most ${urlCharsMax} characters long`);
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  const isRefused = isIP(literal) !== 0 && addressFault(literal, allowPrivateNetwork) !== undefined;
  if (isRefused) throw refuse('a public address: private, link-local and reserved ones are not connected to');
  return url.href;
}
