// ListSessions: lists the sessions of a user.
import type { CallContext } from '#client/call-context.js';
import type { ListSessionsRequest, ListSessionsResponse } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';
import { checkedId } from '../../requests/fields.js';

/** Raises invalid_request. */
export async function listSessions(
  request: ListSessionsRequest,
  _context: CallContext,
  { sessions, clock }: UserDeps,
): Promise<ListSessionsResponse> {
  return { sessions: await sessions.list(checkedId('user_id', 'user', request.userId), clock.nowMs()) };
}
