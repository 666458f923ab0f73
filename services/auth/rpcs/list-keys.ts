// ListKeys: lists the keys of an account or a project, as far as the user may see them, in pages, oldest or newest first, revoked ones included.
import type { CallContext } from '#client/call-context.js';
import type { ListKeysRequest, ListKeysResponse } from '#proto/auth/v1/auth.js';
import { includesProject, projectsOf } from '#kit/rpc/access/projects.js';
import type { RpcDeps } from '../deps.js';
import { accountIdBytes, projectIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { parsePageRequest, readPage } from '../requests/paging.js';

/** Raises invalid_request, and not_found when there is no such account. */
export async function listKeys(request: ListKeysRequest, context: CallContext, deps: RpcDeps): Promise<ListKeysResponse> {
  const accountId = accountIdBytes(request.accountId);
  const visible = projectsOf(context, request.accountId, 'viewer');
  const named = request.projectId === '' ? undefined : [request.projectId].filter((id) => includesProject(visible, id));
  const projectIds = (named ?? (visible === 'all' ? undefined : [...visible]))?.map(projectIdBytes);
  const start = parsePageRequest(request, 'key');
  found(await deps.accounts.find(accountId), 'account');
  const page = await readPage(start, (after, limit) =>
    deps.keys.list(accountId, { projectIds, after, limit, isNewestFirst: request.newestFirst }),
  );
  return { keys: page.items, nextPageToken: page.nextPageToken };
}
