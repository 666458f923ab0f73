// ConfirmPassword: checks the current password before a sensitive action, in case the user has left the screen unattended.
import { idToBytes } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import type { ConfirmPasswordRequest, ConfirmPasswordResponse } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';
import { assertCurrentPassword, userOfSession } from '../passwords/current-password.js';

/** Raises invalid_request, not_found, sign_in_refused, sign_in_throttled, overloaded and failed_precondition. */
export async function confirmPassword(
  { sessionId, currentPassword }: ConfirmPasswordRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<ConfirmPasswordResponse> {
  const who = await userOfSession(sessionId, deps);
  await assertCurrentPassword(who, currentPassword, context, deps);
  if (who.stored.password !== undefined) await deps.sessions.noteAuthentication(idToBytes('sess', sessionId)!, deps.clock.nowMs());
  return {};
}
