// ConfirmPassword: asks for the present password before something that must not be done at an unattended screen.
import type { CallContext } from '#client/call-context.js';
import type { ConfirmPasswordRequest, ConfirmPasswordResponse } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';
import { assertPresentPassword, personOfSession } from '../current-password.js';

/** Raises invalid_request, not_found, sign_in_refused, sign_in_throttled and overloaded. */
export async function confirmPassword(
  request: ConfirmPasswordRequest,
  _context: CallContext,
  deps: UserDeps,
): Promise<ConfirmPasswordResponse> {
  await assertPresentPassword(await personOfSession(request.sessionId, deps), request.currentPassword, deps);
  return {};
}
