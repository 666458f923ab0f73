// Checks who may read and delete a prompt and its answer.
import type { CallContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import { includesProject, isMember, projectsOf } from '#kit/rpc/access/projects.js';
import type { FoundLog } from '../store/prompt-logs.js';

/**
 * Raises not_found for a log that the user may not see, and role_not_permitted unless the user is a developer of the project, or an admin or owner of its
 * account.
 */
export function assertMayRead(log: FoundLog | undefined, accountId: string, context: CallContext): asserts log is FoundLog {
  const isVisible = log?.accountId === accountId && includesProject(projectsOf(context, accountId, 'viewer'), log.projectId);
  if (!isVisible) throw fault('no_such_id', { what: 'prompt_log' });
  if (!isMember(context, 'developer', accountId, log.projectId)) throw fault('members_only', { role: 'developer' });
}
