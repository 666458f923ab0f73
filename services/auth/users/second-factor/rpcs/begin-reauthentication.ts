// BeginReauthentication: returns the challenge with which the user of a session can authenticate again.
import type { CallContext } from '#client/call-context.js';
import type { BeginReauthenticationRequest, BeginReauthenticationResponse } from '#proto/auth/v1/users.js';
import { userOfSession } from '../../passwords/current-password.js';
import type { UserDeps } from '../../deps.js';

/** Raises invalid_request and not_found. */
export async function beginReauthentication(
  { sessionId }: BeginReauthenticationRequest,
  _context: CallContext,
  deps: UserDeps,
): Promise<BeginReauthenticationResponse> {
  const { stored, session } = await userOfSession(sessionId, deps);
  return { challenge: await deps.challenges.ofUser(stored, { method: session.method, sessionId }) };
}
