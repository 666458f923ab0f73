// GetSignInOptions: returns the ways in which users can sign in.
import type { CallContext } from '#client/call-context.js';
import type { GetSignInOptionsRequest, GetSignInOptionsResponse } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';

/** Raises nothing. */
export async function getSignInOptions(
  _request: GetSignInOptionsRequest,
  _context: CallContext,
  { mails, identityProvider, passkeys, config }: UserDeps,
): Promise<GetSignInOptionsResponse> {
  return {
    signUp: config.signUp,
    passwordReset: mails.address('') !== undefined,
    identityProvider: identityProvider === undefined ? undefined : { issuer: identityProvider.issuer, name: identityProvider.name },
    passkeyOrigin: passkeys.origin ?? '',
  };
}
