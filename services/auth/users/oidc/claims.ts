// Validates and normalises what an identity provider asserts about a user.
import { newId } from '#kit/id.js';
import type { IdentityResponse } from '#proto/auth/v1/users.js';
import { fault } from '#client/errors/fault.js';
import { invalidField } from '../../requests/fields.js';
import { checkedEmail } from '../fields.js';
import type { IdentityClaims } from './identity-claims.js';
import type { OidcProvider } from './provider.js';
import type { NewIdentity } from '../store/identities.js';

const issuerCharsMax = 300;
/** OpenID Connect Core 1.0, section 2. */
const subjectCharsMax = 255;
const nameCharsMax = 200;

const queryCharsMax = 8000;

/** Returns the claims behind a response of the provider. Raises what its `finish` raises, and invalid_request. */
export async function claimsOfResponse(
  response: IdentityResponse | undefined,
  provider: Pick<OidcProvider, 'finish'> | undefined,
): Promise<IdentityClaims> {
  const { redirectUri = '', query = '', challenge } = response ?? {};
  if (challenge === undefined || !URL.canParse(redirectUri))
    throw invalidField('response', 'response must have a redirect_uri and a challenge.');
  if (query.length > queryCharsMax) throw invalidField('response.query', `response.query must have at most ${queryCharsMax} characters.`);
  return checkedClaims(await providerOf(provider).finish(redirectUri, query, challenge));
}

/** Returns the provider. Raises not_found when none is configured. */
export function providerOf<P>(provider: P | undefined): P {
  if (provider === undefined) throw fault('no_provider', {}, { details: { what: 'path' } });
  return provider;
}

/** Returns normalised claims: a malformed address is dropped and counts as unverified, and control characters are removed from the name. Raises invalid_request. */
function checkedClaims(claims: IdentityClaims | undefined): IdentityClaims {
  const { issuer = '', subject = '', email = '', emailVerified = false, name = '', authenticatedAtMs } = claims ?? {};
  if (issuer === '' || issuer.length > issuerCharsMax)
    throw invalidField('claims.issuer', `claims.issuer must have 1 to ${issuerCharsMax} characters.`);
  if (subject === '' || subject.length > subjectCharsMax)
    throw invalidField('claims.subject', `claims.subject must have 1 to ${subjectCharsMax} characters.`);
  const address = addressOf(email);
  const shown = [...name.replace(/\p{Cc}/gu, ' ').trim()].slice(0, nameCharsMax).join('');
  return { issuer, subject, email: address, emailVerified: emailVerified && address !== '', name: shown, authenticatedAtMs };
}

/** Returns when the user counts as authenticated: not later than now, since clocks differ; 0 if the provider does not say when it was. */
export function authenticatedAtOf({ authenticatedAtMs = 0 }: IdentityClaims, nowMs: number): number {
  return Math.max(0, Math.min(Math.trunc(authenticatedAtMs), nowMs));
}

/** Returns an identity to connect. */
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
