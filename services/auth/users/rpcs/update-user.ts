// UpdateUser: renames, disables or enables a user, changes the email address, or makes the user an operator.
import { changedFields } from '#kit/audit/audit-event.js';
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { UpdateUserRequest, UpdateUserResponse } from '#proto/auth/v1/users.js';
import { checkedId, checkedName } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';
import { userDetail } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { lockActor } from '../lock-actor.js';
import { mailSecurityEvent } from '../mail/mail-security-event.js';
import { checkedEmail } from '../fields.js';

const fields = ['name', 'is_disabled', 'is_operator', 'email'] as const;

/** Changes the fields of the mask. Raises invalid_request, not_found, already_exists, failed_precondition and role_not_permitted. */
export async function updateUser(request: UpdateUserRequest, context: CallContext, deps: UserDeps): Promise<UpdateUserResponse> {
  const { audit, db, users, members, resets, sessions, log } = deps;
  const id = checkedId('user_id', 'user', request.userId);
  const mask = checkedUpdateMask(request.updateMask, fields);
  const isDisabled = mask.has('is_disabled') ? request.isDisabled : undefined;
  const isOperator = mask.has('is_operator') ? request.isOperator : undefined;
  const name = mask.has('name') ? checkedName(request.name) : undefined;
  const email = mask.has('email') ? checkedEmail(request.email) : undefined;
  const change = { name, isDisabled, isOperator, ...(email === undefined ? {} : { email, emailVerified: true }) };
  const user = await db.transaction(async (tx) => {
    if (request.keepLastOperator && !(await users.keepsAnOperator(tx, id, change))) throw fault('last_operator', {});
    await lockActor(tx, context, { users });
    const { before, after } = found(await users.update(tx, id, change), 'user');
    // Each use of a session or a link reads its user, so disabling takes effect immediately. They are ended too, so that they stay ended after the
    // user is enabled again.
    if (isDisabled === true) {
      await sessions.end(tx, id, { butId: undefined });
      await sessions.endLink(tx, id);
      await resets.endAll(tx, id);
    }
    // The link was mailed to the former address, which is the mailbox of another user if the operator corrects a typing error.
    if (after.email !== before.email) {
      await sessions.endLink(tx, id);
      await mailSecurityEvent(tx, before, { event: 'email' }, '', deps);
    }
    if (after.isDisabled || (before.isOperator && !after.isOperator)) await members.endInvitationsOf(tx, id, after.isDisabled);
    const changed = changedFields(userDetail(before), userDetail(after));
    if (changed !== undefined)
      await audit.append(tx, context, { action: 'user.update', targetId: after.id, detail: { email: after.email, ...changed } });
    return after;
  });
  log.info({ user_id: user.id, is_disabled: user.isDisabled, is_operator: user.isOperator }, 'user updated');
  return { user };
}
