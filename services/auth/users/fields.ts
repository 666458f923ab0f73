// Validation of single fields of requests about users. Each function returns the value to work with or raises invalid_request.
import { domainToUnicode } from 'node:url';
import { fieldFault } from '#client/errors/fault.js';
import { type Client, type ProjectRole, Role } from '#proto/auth/v1/users.js';
import { checkedId } from '../requests/fields.js';

const emailCharsMax = 254;
const passwordCharsMin = 10;
const passwordCharsMax = 1024;
const addressCharsMax = 64;
const userAgentCharsMax = 300;
const searchCharsMax = 200;
/** Actor tokens, which are sent as headers, contain all roles in one account. */
export const projectRolesMax = 50;

// Without characters that are invisible, that quote others, or that mail programs leave out: with them, one mailbox would have many addresses.
// The domain has none that end it in a URL, which would be left out, nor an encoded one.
const emailForm = /^([^\s@\p{C}<>()[\]\\,;:"]+)@([^\s@\p{C}<>()[\]\\,;:"/?#%]+)$/u;

/**
 * Returns an email address in one spelling, so that each mailbox has one user and one limit of mails: in lower case, with its domain as mail servers read
 * it. Only a mail sent to it can show whether it exists.
 */
export function checkedEmail(email: string): string {
  const [, local = '', domain = ''] = emailForm.exec(email.trim().toLowerCase().normalize()) ?? [];
  // Empty for a domain that cannot exist. Mail servers ignore a dot at its end, with which a mailbox would have a second address.
  const name = domainToUnicode(domain);
  const address = `${local}@${name}`;
  if (name.split('.').includes('') || address.length > emailCharsMax) throw fieldFault('email', 'email');
  return address;
}

/** Checks a new password. Its length makes it strong (NIST SP 800-63B, section 3.1.1.2), so no character classes are required. */
export function checkedPassword(password: string, field = 'password'): string {
  const length = [...password].length;
  if (length < passwordCharsMin || length > passwordCharsMax) {
    throw fieldFault(field, 'length', { min: passwordCharsMin, max: passwordCharsMax });
  }
  return password;
}

/** Returns a search text, trimmed. */
export function checkedSearch(search: string): string {
  const text = search.trim();
  if ([...text].length > searchCharsMax) throw fieldFault('search', 'max_length', { max: searchCharsMax });
  return text;
}

/** Checks a role that a user can have. */
export function checkedRole(role: Role): Role {
  if (role < Role.ROLE_OWNER || role > Role.ROLE_MEMBER) throw fieldFault('role', 'role');
  return role;
}

/** Checks a role that a member can have in a project. */
export function checkedProjectRole(role: Role, field = 'role'): Role {
  if (role !== Role.ROLE_DEVELOPER && role !== Role.ROLE_VIEWER) throw fieldFault(field, 'one_of', { values: 'developer, viewer' });
  return role;
}

/** Checks the roles of a member in projects. */
export function checkedProjectRoles(roles: readonly ProjectRole[]): ProjectRole[] {
  if (roles.length > projectRolesMax) throw fieldFault('project_roles', 'max_items', { max: projectRolesMax });
  if (new Set(roles.map(({ projectId }) => projectId)).size < roles.length) throw fieldFault('project_roles', 'distinct_known');
  return roles.map(({ projectId, role }) => {
    checkedId('project_roles.project_id', 'proj', projectId);
    return { projectId, role: checkedProjectRole(role, 'project_roles.role') };
  });
}

/** Returns the client of a sign-in, with its texts cut to the lengths that are stored. */
export function checkedClient(client: Client | undefined): Client {
  return {
    address: (client?.address ?? '').slice(0, addressCharsMax),
    userAgent: (client?.userAgent ?? '').replace(/\p{Cc}/gu, ' ').slice(0, userAgentCharsMax),
  };
}
