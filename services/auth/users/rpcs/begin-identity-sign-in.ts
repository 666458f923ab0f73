// BeginIdentitySignIn: returns the address to which a browser is sent to sign in at the identity provider.
import type { CallContext } from '#client/call-context.js';
import type { BeginIdentitySignInRequest, BeginIdentitySignInResponse } from '#proto/auth/v1/users.js';
import { invalidField } from '../../requests/fields.js';
import { providerOf } from '../oidc/claims.js';
import type { UserDeps } from '../deps.js';

/** Raises invalid_request, not_found, service_unavailable and overloaded. */
export async function beginIdentitySignIn(
  { redirectUri, reauthenticate }: BeginIdentitySignInRequest,
  _context: CallContext,
  { identityProvider }: UserDeps,
): Promise<BeginIdentitySignInResponse> {
  if (!URL.canParse(redirectUri)) throw invalidField('redirect_uri', 'redirect_uri must be an address.');
  return providerOf(identityProvider).begin(redirectUri, reauthenticate);
}
