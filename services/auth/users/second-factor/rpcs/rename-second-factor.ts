// RenameSecondFactor: renames a second factor of the user of a session.
import type { CallContext } from '#client/call-context.js';
import type { RenameSecondFactorRequest, RenameSecondFactorResponse } from '#proto/auth/v1/users.js';
import { checkedId, checkedName } from '../../../requests/fields.js';
import { found } from '../../../requests/found.js';
import { sessionActor } from '../../audit/audit-details.js';
import { lockSession, userOfSession } from '../../passwords/current-password.js';
import type { UserDeps } from '../../deps.js';
import { kindWord } from './add-second-factor.js';

/** Raises invalid_request and not_found. */
export async function renameSecondFactor(
  request: RenameSecondFactorRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<RenameSecondFactorResponse> {
  const { audit, db, factors } = deps;
  const id = checkedId('factor_id', 'fac', request.factorId);
  const name = checkedName(request.name);
  const who = await userOfSession(request.sessionId, deps);
  const factor = await db.transaction(async (tx) => {
    await lockSession(tx, who, deps);
    const present = await factors.list(who.userId, tx);
    const { factor: before } = found(
      present.find((each) => each.factor.id === request.factorId),
      'second_factor',
    );
    if (name === before.name) return before;
    await factors.rename(tx, who.userId, id, name);
    const detail = { user: who.stored.user.id, kind: kindWord(before.kind), name, former_name: before.name };
    await audit.append(tx, context, { action: 'profile.rename_factor', targetId: before.id, detail, actor: sessionActor(who, context) });
    return { ...before, name };
  });
  return { factor };
}
