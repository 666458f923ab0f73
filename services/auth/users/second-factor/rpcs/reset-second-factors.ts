// ResetSecondFactors: removes all second factors of a user who has lost them.
import type { CallContext } from '#client/call-context.js';
import type { ResetSecondFactorsRequest, ResetSecondFactorsResponse } from '#proto/auth/v1/users.js';
import { found } from '../../../requests/found.js';
import type { UserDeps } from '../../deps.js';
import { checkedId } from '../../../requests/fields.js';
import { mailSecurityEvent } from '../../mail/mail-security-event.js';

/** A repeat changes nothing. Raises invalid_request and not_found. */
export async function resetSecondFactors(
  request: ResetSecondFactorsRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<ResetSecondFactorsResponse> {
  const { audit, db, factors, users, log } = deps;
  const userId = checkedId('user_id', 'user', request.userId);
  const { user } = found(await users.find(userId), 'user');
  if (!user.hasSecondFactor) return { user };
  await db.transaction(async (tx) => {
    await users.lock(tx, userId);
    await factors.removeAll(tx, userId);
    await mailSecurityEvent(tx, user, { event: 'factors_reset' }, request.language, deps);
    await audit.append(tx, context, { action: 'user.reset_factors', targetId: user.id, detail: { email: user.email } });
  });
  log.info({ user_id: user.id }, 'second factors removed by the operator');
  return { user: { ...user, hasSecondFactor: false } };
}
