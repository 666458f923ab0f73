// The rules of single fields of requests about people. Each gives back the value to work with or raises invalid_request.
import { idToBytes } from '#kit/id.js';
import { type Client, Role } from '#proto/auth/v1/users.js';
import { invalidField } from '../requests/fields.js';

const emailCharsMax = 254;
const passwordCharsMin = 10;
const passwordCharsMax = 1024;
const addressCharsMax = 64;
const userAgentCharsMax = 300;
const searchCharsMax = 200;

/** An e-mail address in lower case. Whether it exists only a message can show. */
export function checkedEmail(email: string): string {
  const address = email.trim().toLowerCase();
  if (address.length > emailCharsMax || !/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(address)) {
    throw invalidField('email', 'email must be an e-mail address such as ada@example.com.');
  }
  return address;
}

/** A new password. Length is what makes one strong (NIST SP 800-63B, section 3.1.1.2), so no kinds of characters are asked for. */
export function checkedPassword(password: string, field = 'password'): string {
  const length = [...password].length;
  if (length < passwordCharsMin || length > passwordCharsMax) {
    throw invalidField(field, `${field} must have ${passwordCharsMin} to ${passwordCharsMax} characters.`);
  }
  return password;
}

/** A text to search for, without spaces around it. */
export function checkedSearch(search: string): string {
  const text = search.trim();
  if ([...text].length > searchCharsMax) throw invalidField('search', `search must have at most ${searchCharsMax} characters.`);
  return text;
}

/** A role that somebody can have. */
export function checkedRole(role: Role): Role {
  if (role < Role.ROLE_OWNER || role > Role.ROLE_VIEWER)
    throw invalidField('role', 'role must be owner, admin, developer, billing or viewer.');
  return role;
}

/** The bytes of an id with this prefix. */
export function checkedId(field: string, prefix: string, id: string): Buffer {
  const bytes = idToBytes(prefix, id);
  if (bytes === undefined) throw invalidField(field, `${field} must be "${prefix}_" and 32 hexadecimal digits in lower case.`);
  return bytes;
}

/** From where somebody signs in, cut to what is kept. */
export function checkedClient(client: Client | undefined): Client {
  return {
    address: (client?.address ?? '').slice(0, addressCharsMax),
    userAgent: (client?.userAgent ?? '').replace(/\p{Cc}/gu, ' ').slice(0, userAgentCharsMax),
  };
}
