// UpdateProject: renames, restricts or limits a project.
import { isDeepStrictEqual } from 'node:util';
import { isMember } from '#kit/rpc/access/projects.js';
import { fault, fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { changedFields } from '#kit/audit/audit-event.js';
import type { Project, UpdateProjectRequest, UpdateProjectResponse } from '#proto/auth/v1/auth.js';
import { BudgetScope } from '#proto/budget/v1/budget.js';
import type { RpcDeps } from '../deps.js';
import { changedBudgets, checkedBudgetFallback, checkedBudgets } from '../requests/budgets.js';
import { accountIdBytes, checkedModels, checkedName } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { ownProject } from '../requests/own-project.js';
import { projectDetail } from '../requests/project-detail.js';
import { checkedRateLimits } from '../requests/rate-limits.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';

const fields = ['name', 'models', 'rate_limits', 'budgets', 'budget_fallback', 'prompt_log_days'] as const;
const promptLogDaysMax = 30;

/**
 * Changes the fields of the mask. Raises invalid_request, not_found, failed_precondition for a deleted project and for prompts of an account that
 * never logs them, and role_not_permitted when prompts are to be logged for longer by a user who is neither an admin nor an owner of the account.
 */
export async function updateProject(request: UpdateProjectRequest, context: CallContext, deps: RpcDeps): Promise<UpdateProjectResponse> {
  const own = ownProject(request);
  const mask = checkedUpdateMask(request.updateMask, fields);
  const wanted: Partial<Project> = {};
  if (mask.has('name')) wanted.name = checkedName(request.name);
  if (mask.has('models')) wanted.models = checkedModels(request.models ?? { allModels: true, modelIds: [] });
  if (mask.has('rate_limits')) wanted.rateLimits = checkedRateLimits(request.rateLimits);
  if (mask.has('budget_fallback')) wanted.budgetFallback = checkedBudgetFallback(request.budgetFallback);
  if (mask.has('prompt_log_days')) wanted.promptLogDays = await checkedPromptLogDays(request, deps);
  const budgets = mask.has('budgets') ? checkedBudgets(request.budgets) : undefined;

  const change = (before: Project): Project => {
    own.check(before);
    if (before.deletedAtMs !== undefined) throw fault('project_deleted', {});
    if ((wanted.promptLogDays ?? 0) > before.promptLogDays && !isMember(context, 'admin', before.accountId))
      throw fault('members_only', { role: 'admin' });
    const owner = { scope: BudgetScope.BUDGET_SCOPE_PROJECT, scopeId: before.id };
    const after: Project = {
      ...before,
      ...wanted,
      budgets: budgets === undefined ? before.budgets : changedBudgets(before.budgets, budgets, owner, deps.clock.nowMs()),
    };
    return isDeepStrictEqual(after, before) ? before : after;
  };
  const changed = await deps.projects.change(own.id, change, (tx, before, after) =>
    deps.audit.append(tx, context, {
      action: 'project.update',
      accountId: after.accountId,
      targetId: after.id,
      detail: { name: after.name, ...changedFields(projectDetail(before), projectDetail(after)) },
    }),
  );
  const project = found(changed, 'project');
  deps.feed.wake();
  deps.log.info({ project_id: project.id, version: project.version.toString() }, 'project updated');
  return { project };
}

async function checkedPromptLogDays({ promptLogDays: days, accountId }: UpdateProjectRequest, { accounts }: RpcDeps): Promise<number> {
  if (days > promptLogDaysMax) throw fieldFault('prompt_log_days', 'range', { min: 0, max: promptLogDaysMax });
  // The account's setting overrides the project's, so changing it at the same moment does no harm.
  const isForbidden = days > 0 && (await accounts.find(accountIdBytes(accountId)))?.neverLogPrompts === true;
  if (isForbidden) throw fault('prompts_never_logged', {});
  return days;
}
