// BeginPasskeySignIn: returns the challenge of a sign-in with a passkey alone.
import type { CallContext } from '#client/call-context.js';
import { type BeginPasskeySignInRequest, type BeginPasskeySignInResponse, SignInMethod } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../../deps.js';

/** Raises failed_precondition where passkeys cannot be used. */
export async function beginPasskeySignIn(
  _request: BeginPasskeySignInRequest,
  _context: CallContext,
  { challenges }: UserDeps,
): Promise<BeginPasskeySignInResponse> {
  return { challenge: await challenges.ofAnyPasskey(SignInMethod.SIGN_IN_METHOD_PASSKEY) };
}
