// What an identity provider says of somebody, brought into the form in which it is kept. Pure.
import { newId } from '#kit/id.js';
import type { IdentityClaims } from '#proto/auth/v1/users.js';
import { invalidField } from '../requests/fields.js';
import { checkedEmail } from './fields.js';
import type { NewIdentity } from './store/identities.js';

const issuerCharsMax = 300;
/** OpenID Connect Core 1.0, section 2. */
const subjectCharsMax = 255;
const nameCharsMax = 200;

/** Raises invalid_request. An address that is none is taken for unverified, and a name that could not be shown for none. */
export function checkedClaims(claims: IdentityClaims | undefined): IdentityClaims {
  const { issuer = '', subject = '', email = '', emailVerified = false, name = '' } = claims ?? {};
  if (issuer === '' || issuer.length > issuerCharsMax)
    throw invalidField('claims.issuer', `claims.issuer must have 1 to ${issuerCharsMax} characters.`);
  if (subject === '' || subject.length > subjectCharsMax)
    throw invalidField('claims.subject', `claims.subject must have 1 to ${subjectCharsMax} characters.`);
  const address = addressOf(email);
  const shown = [...name.replace(/\p{Cc}/gu, ' ').trim()].slice(0, nameCharsMax).join('');
  return { issuer, subject, email: address, emailVerified: emailVerified && address !== '', name: shown };
}

/** An identity that is to be connected. */
export function newIdentity(claims: IdentityClaims, nowMs: number): NewIdentity {
  return { id: newId('idn', nowMs), claims, createdAtMs: BigInt(nowMs) };
}

function addressOf(email: string): string {
  try {
    return checkedEmail(email);
  } catch {
    return '';
  }
}
