// Reauthenticate: authenticates the user of a session again.
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { ReauthenticateRequest, ReauthenticateResponse } from '#proto/auth/v1/users.js';
import { signInRefused } from '../../begin-session.js';
import { assertCurrentPassword, userOfSession } from '../../passwords/current-password.js';
import type { UserDeps } from '../../deps.js';
import { proveSecondFactor } from '../prove.js';

/** Raises invalid_request, not_found, sign_in_refused, sign_in_throttled and overloaded. */
export async function reauthenticate(
  { sessionId, by }: ReauthenticateRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<ReauthenticateResponse> {
  const who = await userOfSession(sessionId, deps);
  if (by?.$case === 'secondFactor') {
    await proveSecondFactor(by.value, sessionId, who.session.client!.address, context, deps);
  } else {
    if (by === undefined || who.stored.password === undefined) throw signInRefused();
    await assertCurrentPassword(who, by.value, deps);
  }
  await deps.sessions.noteAuthentication(idToBytes('sess', sessionId)!, deps.clock.nowMs());
  return {};
}
