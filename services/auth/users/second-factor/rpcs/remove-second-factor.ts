// RemoveSecondFactor: removes a second factor of the user of a session.
import type { CallContext } from '#client/call-context.js';
import type { RemoveSecondFactorRequest, RemoveSecondFactorResponse } from '#proto/auth/v1/users.js';
import { found } from '../../../requests/found.js';
import { sessionActor } from '../../audit/audit-details.js';
import { lockSession, userOfSession } from '../../passwords/current-password.js';
import type { UserDeps } from '../../deps.js';
import { checkedId } from '../../../requests/fields.js';
import { mailSecurityEvent } from '../../mail/mail-security-event.js';
import { assertRecentlyAuthenticated } from '../recent.js';
import { kindWord } from './add-second-factor.js';

/** Raises invalid_request, not_found, and failed_precondition without a recent authentication. */
export async function removeSecondFactor(
  request: RemoveSecondFactorRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<RemoveSecondFactorResponse> {
  const { audit, db, factors, clock, log } = deps;
  const id = checkedId('factor_id', 'fac', request.factorId);
  const who = await userOfSession(request.sessionId, deps);
  assertRecentlyAuthenticated(who.session, clock);
  const { user } = who.stored;
  const { factor } = found(
    (await factors.list(who.userId)).find((each) => each.factor.id === request.factorId),
    'second_factor',
  );
  await db.transaction(async (tx) => {
    await lockSession(tx, who, deps);
    found((await factors.remove(tx, who.userId, id)) ? true : undefined, 'second_factor');
    await mailSecurityEvent(tx, user, { event: 'factor_removed', what: factor.name }, request.language, deps);
    const detail = { user: user.id, kind: kindWord(factor.kind), name: factor.name };
    await audit.append(tx, context, { action: 'profile.remove_factor', targetId: factor.id, detail, actor: sessionActor(who, context) });
  });
  log.info({ user_id: user.id, factor_id: factor.id }, 'second factor removed');
  return {};
}
