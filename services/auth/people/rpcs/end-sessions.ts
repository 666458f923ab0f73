// EndSessions: ends one session of a person, or all but one.
import type { CallContext } from '#kit/rpc/call-context.js';
import type { EndSessionsRequest, EndSessionsResponse } from '#proto/auth/v1/people.js';
import type { PeopleDeps } from '../deps.js';
import { checkedId } from '../fields.js';

/** Raises invalid_request. */
export async function endSessions(
  request: EndSessionsRequest,
  _context: CallContext,
  { sessions, log }: PeopleDeps,
): Promise<EndSessionsResponse> {
  const userId = checkedId('user_id', 'user', request.userId);
  const butId = request.butSessionId === '' ? undefined : checkedId('but_session_id', 'sess', request.butSessionId);
  const ended = await sessions.end(
    userId,
    request.sessionId === '' ? { butId } : { id: checkedId('session_id', 'sess', request.sessionId) },
  );
  log.info({ user_id: request.userId, ended }, 'sessions ended');
  return { ended };
}
