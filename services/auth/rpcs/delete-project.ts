// DeleteProject: deletes a project that has no keys, except for its id and name.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { DeleteProjectRequest, DeleteProjectResponse, Project } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { found } from '../requests/found.js';
import { ownProject } from '../requests/own-project.js';

/** Deletes the project; a deleted one is unchanged. Raises invalid_request, not_found and failed_precondition. */
export async function deleteProject(request: DeleteProjectRequest, context: CallContext, deps: RpcDeps): Promise<DeleteProjectResponse> {
  const own = ownProject(request);
  const deletedAtMs = BigInt(deps.clock.nowMs());
  const change = (before: Project, hasKeys: boolean): Project => {
    own.check(before);
    if (before.deletedAtMs !== undefined) return before;
    if (before.isDefault) throw fault('default_project', {});
    if (hasKeys) throw fault('project_in_use', {});
    return { ...before, deletedAtMs, budgets: [] };
  };
  const changed = await deps.projects.change(own.id, change, (tx, { accountId, id: targetId, name }) =>
    deps.audit.append(tx, context, { action: 'project.delete', accountId, targetId, detail: { name } }),
  );
  const project = found(changed, 'project');
  deps.feed.wake();
  deps.log.info({ project_id: project.id, version: project.version.toString() }, 'project deleted');
  return { project };
}
