// CreateRecoveryCodes: replaces the recovery codes of the user of a session.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { CreateRecoveryCodesRequest, CreateRecoveryCodesResponse } from '#proto/auth/v1/users.js';
import { sessionActor } from '../../audit/audit-details.js';
import { lockSession, userOfSession } from '../../passwords/current-password.js';
import type { UserDeps } from '../../deps.js';
import { mailSecurityEvent } from '../../mail/mail-security-event.js';
import { assertRecentlyAuthenticated } from '../recent.js';
import { newRecoveryCodes } from '../recovery-codes.js';

/** Raises invalid_request, not_found, and failed_precondition without a second factor or a recent authentication. */
export async function createRecoveryCodes(
  { sessionId, language }: CreateRecoveryCodesRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<CreateRecoveryCodesResponse> {
  const { audit, db, factors, clock } = deps;
  const who = await userOfSession(sessionId, deps);
  assertRecentlyAuthenticated(who.session, clock);
  const { user } = who.stored;
  const { codes, hashes } = newRecoveryCodes();
  await db.transaction(async (tx) => {
    await lockSession(tx, who, deps);
    if ((await factors.list(who.userId, tx)).length === 0) throw fault('no_second_factor', {});
    await factors.replaceCodes(tx, who.userId, hashes);
    await mailSecurityEvent(tx, user, { event: 'new_codes' }, language, deps);
    await audit.append(tx, context, { action: 'profile.recovery_codes', targetId: user.id, actor: sessionActor(who, context) });
  });
  return { recoveryCodes: codes };
}
