// The rules of single fields of requests about people. Each gives back the value to work with or raises invalid_request.
import { fieldFault } from '#client/errors/fault.js';
import { idToBytes } from '#kit/id.js';
import { type Client, Role } from '#proto/auth/v1/users.js';

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
    throw fieldFault('email', 'email');
  }
  return address;
}

/** A new password. Length is what makes one strong (NIST SP 800-63B, section 3.1.1.2), so no kinds of characters are asked for. */
export function checkedPassword(password: string, field = 'password'): string {
  const length = [...password].length;
  if (length < passwordCharsMin || length > passwordCharsMax) {
    throw fieldFault(field, 'length', { min: passwordCharsMin, max: passwordCharsMax });
  }
  return password;
}

/** A text to search for, without spaces around it. */
export function checkedSearch(search: string): string {
  const text = search.trim();
  if ([...text].length > searchCharsMax) throw fieldFault('search', 'max_length', { max: searchCharsMax });
  return text;
}

/** A role that somebody can have. */
export function checkedRole(role: Role): Role {
  if (role < Role.ROLE_OWNER || role > Role.ROLE_VIEWER) throw fieldFault('role', 'role');
  return role;
}

/** The bytes of an id with this prefix. */
export function checkedId(field: string, prefix: string, id: string): Buffer {
  const bytes = idToBytes(prefix, id);
  if (bytes === undefined) throw fieldFault(field, 'id', { prefix });
  return bytes;
}

/** From where somebody signs in, cut to what is kept. */
export function checkedClient(client: Client | undefined): Client {
  return {
    address: (client?.address ?? '').slice(0, addressCharsMax),
    userAgent: (client?.userAgent ?? '').replace(/\p{Cc}/gu, ' ').slice(0, userAgentCharsMax),
  };
}
