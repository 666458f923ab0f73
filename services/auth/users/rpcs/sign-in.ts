// SignIn: begins a session by e-mail address and password.
import type { CallContext } from '#client/call-context.js';
import type { SignInRequest, SignInResponse } from '#proto/auth/v1/users.js';
import { beginSession, signInRefused } from '../begin-session.js';
import type { UserDeps } from '../deps.js';
import { checkedClient, checkedEmail } from '../fields.js';
import { checkPassword } from '../throttle.js';

/** Raises invalid_request, sign_in_refused, sign_in_throttled and overloaded. */
export async function signIn(request: SignInRequest, context: CallContext, deps: UserDeps): Promise<SignInResponse> {
  const email = checkedEmail(request.email);
  const client = checkedClient(request.client);
  const person = await deps.users.findByEmail(email);
  const isRight = await checkPassword({ email, address: client.address }, request.password, person?.password, deps);
  if (!isRight || person === undefined) throw signInRefused();
  return { signedIn: await beginSession(person.user, client, false, context, deps) };
}
