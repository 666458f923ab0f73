// The project of a request that also names the account.
import { fault } from '#client/errors/fault.js';
import type { Project } from '#proto/auth/v1/auth.js';
import { accountIdBytes, projectIdBytes } from './fields.js';
import { found } from './found.js';

/** Holds the id of the project, and a check that the account owns it. */
export interface OwnProject {
  readonly id: Buffer;
  /** Raises not_found for a project of another account, as for a project that does not exist. */
  check(project: Project): void;
}

/** Raises invalid_request for a malformed id. */
export function ownProject({ projectId, accountId }: { readonly projectId: string; readonly accountId: string }): OwnProject {
  accountIdBytes(accountId);
  return {
    id: projectIdBytes(projectId),
    check: (project) => void found(project.accountId === accountId ? project : undefined, 'project'),
  };
}

/** Raises not_found unless the account owns the project, and failed_precondition if it is deleted. */
export function assertOpenProject(project: Project | undefined, accountId: string): void {
  const own = found(project?.accountId === accountId ? project : undefined, 'project');
  if (own.deletedAtMs !== undefined) throw fault('project_deleted', {});
}
