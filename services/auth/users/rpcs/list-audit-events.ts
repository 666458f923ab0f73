// ListAuditEvents: lists the audit events that match a filter, newest first, in pages.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { ListAuditEventsRequest, ListAuditEventsResponse } from '#proto/auth/v1/users.js';
import { parsePageRequest, readPage } from '../../requests/paging.js';
import type { UserDeps } from '../deps.js';

const filterCharsMax = 200;

/** Raises invalid_request. */
export async function listAuditEvents(
  request: ListAuditEventsRequest,
  _context: CallContext,
  { audit }: UserDeps,
): Promise<ListAuditEventsResponse> {
  const { accountId, actor, action, targetId, fromMs, untilMs, withoutUser } = request;
  for (const [field, text] of Object.entries({ account_id: accountId, actor, target_id: targetId })) {
    if (text.length > filterCharsMax) throw fieldFault(field, 'max_length', { max: filterCharsMax });
  }
  if (!/^[a-z_.]{0,64}$/.test(action)) throw fieldFault('action', 'audit_action');
  if (fromMs < 0n || untilMs < 0n) throw fieldFault(fromMs < 0n ? 'from_ms' : 'until_ms', 'at_least', { min: 0 });
  const filter = { accountId, actor: actor.trim(), withoutUser, action, targetId, fromMs, untilMs };
  const page = await readPage(parsePageRequest(request, 'aud'), (after, limit) => audit.list(filter, after, limit));
  return { events: page.items, nextPageToken: page.nextPageToken };
}
