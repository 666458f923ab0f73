// ListProjects: lists the projects of an account that the user may see, in pages, deleted ones included.
import type { CallContext } from '#client/call-context.js';
import { idToBytes } from '#kit/id.js';
import type { ListProjectsRequest, ListProjectsResponse } from '#proto/auth/v1/auth.js';
import { projectsOf } from '#kit/rpc/access/projects.js';
import type { RpcDeps } from '../deps.js';
import { accountIdBytes, projectIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { parsePageRequest, readPage } from '../requests/paging.js';

/** Raises invalid_request, and not_found when there is no such account. */
export async function listProjects(request: ListProjectsRequest, context: CallContext, deps: RpcDeps): Promise<ListProjectsResponse> {
  const { accounts, keys, projects } = deps;
  const accountId = accountIdBytes(request.accountId);
  const start = parsePageRequest(request, 'proj');
  found(await accounts.find(accountId), 'account');
  const visible = projectsOf(context, request.accountId, 'viewer');
  const ids = visible === 'all' ? undefined : [...visible].map(projectIdBytes);
  const page = await readPage(start, (after, limit) => projects.list(accountId, { ids, after, limit }));
  const counts = request.withKeyCounts ? await keys.countByProject(page.items.map(({ id }) => idToBytes('proj', id)!)) : undefined;
  return {
    projects: page.items,
    nextPageToken: page.nextPageToken,
    keyCounts: counts === undefined ? [] : page.items.map(({ id }) => counts.get(id) ?? 0),
  };
}
