// UpdateProfile: changes the name or the email address of the user of a session.
import { hasReason } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { UpdateProfileRequest, UpdateProfileResponse, User } from '#proto/auth/v1/users.js';
import { checkedName } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';
import { sessionActor } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { checkedEmail } from '../fields.js';
import { assertCurrentPassword, lockSession, userOfSession, type SessionUser } from '../passwords/current-password.js';
import type { UserChange } from '../store/users.js';
import { attemptsMax, giveAttemptBack, takeAttempt } from '../passwords/throttle.js';

/** Raises invalid_request, not_found, already_exists, sign_in_refused for a wrong current password, sign_in_throttled, overloaded and failed_precondition. */
export async function updateProfile(request: UpdateProfileRequest, context: CallContext, deps: UserDeps): Promise<UpdateProfileResponse> {
  const mask = checkedUpdateMask(request.updateMask, ['name', 'email']);
  const name = mask.has('name') ? checkedName(request.name) : undefined;
  const who = await userOfSession(request.sessionId, deps);
  const wanted = mask.has('email') ? checkedEmail(request.email) : undefined;
  if (wanted === undefined || wanted === who.stored.user.email) return { user: await changed(who, { name }, context, deps) };
  // Limited, so that a user cannot find out the addresses of others by trying them.
  const scope = `taken ${who.stored.user.id}`;
  await takeAttempt(scope, attemptsMax.takenEmail, deps);
  let user: User;
  try {
    await assertCurrentPassword(who, request.currentPassword, deps);
    user = await changed(who, { name, email: wanted, emailVerified: false }, context, deps);
  } catch (error) {
    if (!hasReason(error, 'already_exists')) await giveAttemptBack(scope, deps);
    throw error;
  }
  await giveAttemptBack(scope, deps);
  deps.log.info({ user_id: user.id }, 'email address changed by the user');
  return { user };
}

async function changed(who: SessionUser, change: UserChange, context: CallContext, deps: UserDeps): Promise<User> {
  const { audit, db, sessions, users } = deps;
  return db.transaction(async (tx) => {
    await lockSession(tx, who, deps);
    const { before, after } = found(await users.update(tx, who.userId, change), 'user');
    // An operator may have mailed a link to the former address.
    if (after.email !== before.email) await sessions.endLink(tx, who.userId);
    const detail = {
      ...(after.name === before.name ? {} : { name: after.name }),
      ...(after.email === before.email ? {} : { email: after.email, former_email: before.email }),
    };
    if (Object.keys(detail).length > 0)
      await audit.append(tx, context, { action: 'profile.update', targetId: after.id, detail, actor: sessionActor(who, context) });
    return after;
  });
}
