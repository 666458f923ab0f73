// FinishSignIn: begins a session with a second factor, or with a passkey alone.
import type { CallContext } from '#client/call-context.js';
import type { FinishSignInRequest, FinishSignInResponse } from '#proto/auth/v1/users.js';
import { beginSession } from '../../begin-session.js';
import type { UserDeps } from '../../deps.js';
import { checkedClient } from '../../fields.js';
import { proveSecondFactor } from '../prove.js';

/** Raises sign_in_refused, sign_in_throttled, and failed_precondition for a passkey where none can be used. */
export async function finishSignIn(request: FinishSignInRequest, context: CallContext, deps: UserDeps): Promise<FinishSignInResponse> {
  const client = checkedClient(request.client);
  const { proven, challenge } = await proveSecondFactor(request.proof, undefined, client.address, context, deps);
  return { signedIn: await beginSession(proven, client, challenge.method, context, deps) };
}
