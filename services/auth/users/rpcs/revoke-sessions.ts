// RevokeSessions: ends one session of a user, or all but one.
import type { CallContext } from '#client/call-context.js';
import type { RevokeSessionsRequest, RevokeSessionsResponse } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';
import { checkedId } from '../../requests/fields.js';

/** Raises invalid_request. */
export async function revokeSessions(
  request: RevokeSessionsRequest,
  context: CallContext,
  { audit, db, users, sessions, log }: UserDeps,
): Promise<RevokeSessionsResponse> {
  const userId = checkedId('user_id', 'user', request.userId);
  const butId = request.exceptSessionId === '' ? undefined : checkedId('except_session_id', 'sess', request.exceptSessionId);
  const which = request.sessionId === '' ? { butId } : { id: checkedId('session_id', 'sess', request.sessionId) };
  const ended = await db.transaction(async (tx) => {
    // Locks the user, because a concurrent request could otherwise continue an ending session as a new one.
    const email = (await users.lock(tx, userId))?.user.email;
    const count = await sessions.end(tx, userId, which);
    if (count > 0)
      await audit.append(tx, context, { action: 'user.end_sessions', targetId: request.userId, detail: { email, ended: count } });
    return count;
  });
  log.info({ user_id: request.userId, ended }, 'sessions ended');
  return { revoked: ended };
}
