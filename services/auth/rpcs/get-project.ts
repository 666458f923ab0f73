// GetProject: returns one project by its id.
import type { CallContext } from '#client/call-context.js';
import type { GetProjectRequest, GetProjectResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { projectIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { ownProject } from '../requests/own-project.js';

/** Raises invalid_request and not_found. */
export async function getProject(request: GetProjectRequest, _context: CallContext, deps: RpcDeps): Promise<GetProjectResponse> {
  const own = request.accountId === '' ? undefined : ownProject(request);
  const id = projectIdBytes(request.projectId);
  const project = found(await deps.projects.find(id), 'project');
  own?.check(project);
  return { project, keyCount: (await deps.keys.countByProject([id])).get(project.id) ?? 0 };
}
