// Validation of an alert's fields. It raises invalid_request that names the field. Pure.
import { fieldFault } from '#client/errors/fault.js';
import { emailsMax } from './model.js';

const emailCharsMax = 254;

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
