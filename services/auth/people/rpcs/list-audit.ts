// ListAudit: what was noted, newest first, by pages.
import type { CallContext } from '#kit/rpc/call-context.js';
import type { ListAuditRequest, ListAuditResponse } from '#proto/auth/v1/people.js';
import { parsePageRequest, readPage } from '../../requests/paging.js';
import type { PeopleDeps } from '../deps.js';

/** Raises invalid_request. */
export async function listAudit(request: ListAuditRequest, _context: CallContext, { audit }: PeopleDeps): Promise<ListAuditResponse> {
  const page = await readPage(parsePageRequest(request, 'aud'), (after, limit) => audit.list(request.accountId, after, limit));
  return { entries: page.items, nextPageToken: page.nextPageToken };
}
