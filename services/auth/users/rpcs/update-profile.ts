// UpdateProfile: changes the name or the e-mail address of the person of a session.
import { hasReason } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { UpdateProfileRequest, UpdateProfileResponse, User } from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { checkedUpdateMask } from '../../requests/update-mask.js';
import type { PeopleDeps } from '../deps.js';
import { checkedEmail } from '../fields.js';
import { assertPresentPassword, personOfSession } from '../current-password.js';
import { assertNotThrottled, attemptsMax, noteAttempt } from '../throttle.js';

/** Raises invalid_request, not_found, already_exists, sign_in_refused for a wrong present password, sign_in_throttled and overloaded. */
export async function updateProfile(
  request: UpdateProfileRequest,
  _context: CallContext,
  deps: PeopleDeps,
): Promise<UpdateProfileResponse> {
  const mask = checkedUpdateMask(request.updateMask, ['name', 'email']);
  const name = mask.has('name') ? checkedName(request.name) : undefined;
  const who = await personOfSession(request.sessionId, deps);
  const wanted = mask.has('email') ? checkedEmail(request.email) : undefined;
  if (wanted === undefined || wanted === who.person.user.email)
    return { user: found(await deps.users.update(who.userId, { name }), 'user') };
  // Nobody learns the addresses of others one by one.
  const scope = `taken ${who.person.user.id}`;
  await assertNotThrottled(scope, attemptsMax.takenEmail, deps);
  await assertPresentPassword(who, request.currentPassword, deps);
  let user: User;
  try {
    user = found(await deps.users.update(who.userId, { name, email: wanted, emailVerified: false }), 'user');
  } catch (error) {
    if (hasReason(error, 'already_exists')) await noteAttempt(scope, deps);
    throw error;
  }
  deps.log.info({ user_id: user.id }, 'e-mail address changed by its person');
  return { user };
}
