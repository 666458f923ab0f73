// SignIn: begins a session with an email address and a password, or requests the second factor.
import type { CallContext } from '#client/call-context.js';
import { SignInMethod, type SignInRequest, type SignInResponse } from '#proto/auth/v1/users.js';
import { beginSessionOrChallenge, signInRefused } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedClient, checkedEmail } from '../fields.js';
import { checkPassword } from '../passwords/throttle.js';

/** Raises invalid_request, sign_in_refused, sign_in_throttled and overloaded. */
export async function signIn(request: SignInRequest, context: CallContext, deps: UserDeps): Promise<SignInResponse> {
  const email = checkedEmail(request.email);
  const client = checkedClient(request.client);
  const stored = await deps.users.findByEmail(email);
  const isRight = await checkPassword(
    { email, address: client.address, userId: stored?.user.id },
    request.password,
    stored?.password,
    deps,
  );
  if (!isRight || stored === undefined) throw signInRefused();
  return beginSessionOrChallenge(stored, client, SignInMethod.SIGN_IN_METHOD_PASSWORD, context, deps);
}
