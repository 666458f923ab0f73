// DeleteMember: ends a membership.
import type { CallContext } from '#client/call-context.js';
import type { DeleteMemberRequest, DeleteMemberResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes, checkedId } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { mayChangeMember } from '../actor-rules.js';
import type { UserDeps } from '../deps.js';
import { lockActor } from '../lock-actor.js';

/** Raises invalid_request, not_found, role_not_permitted, and failed_precondition when the account would have no owner left. */
export async function deleteMember(
  request: DeleteMemberRequest,
  context: CallContext,
  { audit, db, users, members, log }: UserDeps,
): Promise<DeleteMemberResponse> {
  const accountId = accountIdBytes(request.accountId);
  const userId = checkedId('user_id', 'user', request.userId);
  const email = (await users.find(userId))?.user.email;
  // Every member may leave the account.
  const isLeaving = context.actor?.userId === request.userId;
  await db.transaction(async (tx) => {
    if (!isLeaving) await lockActor(tx, context, { users });
    const check = isLeaving ? () => undefined : mayChangeMember(context, request.userId);
    found((await members.remove(tx, accountId, userId, check)) ? true : undefined, 'member');
    await audit.append(tx, context, {
      action: 'member.remove',
      accountId: request.accountId,
      targetId: request.userId,
      detail: { email },
    });
  });
  log.info({ account_id: request.accountId, user_id: request.userId }, 'member removed');
  return {};
}
