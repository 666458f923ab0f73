// PutMember: makes a user a member or changes their role.
import type { CallContext } from '#client/call-context.js';
import type { PutMemberRequest, PutMemberResponse } from '#proto/auth/v1/users.js';
import { accountIdBytes, checkedId } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { mayChangeMember } from '../actor-rules.js';
import { roleWord } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { lockActor } from '../lock-actor.js';
import { checkedRole } from '../fields.js';

/** Raises invalid_request, not_found, role_not_permitted, and failed_precondition when the account would have no owner left. */
export async function putMember(
  request: PutMemberRequest,
  context: CallContext,
  { audit, db, users, members, clock, log }: UserDeps,
): Promise<PutMemberResponse> {
  const accountId = accountIdBytes(request.accountId);
  const userId = checkedId('user_id', 'user', request.userId);
  const role = checkedRole(request.role);
  const { user } = found(await users.find(userId), 'user');
  await db.transaction(async (tx) => {
    await lockActor(tx, context, { users });
    const check = mayChangeMember(context, request.userId, role);
    const former = await members.put(tx, accountId, { userId, role, nowMs: clock.nowMs() }, check);
    if (former === role) return;
    const detail = { email: user.email, role: roleWord(role), ...(former === undefined ? {} : { former_role: roleWord(former) }) };
    await audit.append(tx, context, { action: 'member.put', accountId: request.accountId, targetId: user.id, detail });
  });
  log.info({ account_id: request.accountId, user_id: user.id, role }, 'member added or role changed');
  return { member: (await members.ofAccount(accountId)).find((member) => member.user!.id === user.id) };
}
