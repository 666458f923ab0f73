// UpdateProject: renames, restricts or limits a project.
import { isDeepStrictEqual } from 'node:util';
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { changedFields } from '#kit/audit/audit-event.js';
import type { Project, UpdateProjectRequest, UpdateProjectResponse } from '#proto/auth/v1/auth.js';
import { BudgetScope } from '#proto/budget/v1/budget.js';
import type { RpcDeps } from '../deps.js';
import { changedBudgets, checkedBudgetFallback, checkedBudgets } from '../requests/budgets.js';
import { checkedModels, checkedName } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { ownProject } from '../requests/own-project.js';
import { projectDetail } from '../requests/project-detail.js';
import { checkedRateLimits } from '../requests/rate-limits.js';
import { checkedUpdateMask } from '../requests/update-mask.js';

const fields = ['name', 'models', 'rate_limits', 'budgets', 'budget_fallback'] as const;

/** Changes the fields of the mask. Raises invalid_request, not_found, and failed_precondition for a deleted project. */
export async function updateProject(request: UpdateProjectRequest, context: CallContext, deps: RpcDeps): Promise<UpdateProjectResponse> {
  const own = ownProject(request);
  const mask = checkedUpdateMask(request.updateMask, fields);
  const wanted: Partial<Project> = {};
  if (mask.has('name')) wanted.name = checkedName(request.name);
  if (mask.has('models')) wanted.models = checkedModels(request.models ?? { allModels: true, modelIds: [] });
  if (mask.has('rate_limits')) wanted.rateLimits = checkedRateLimits(request.rateLimits);
  if (mask.has('budget_fallback')) wanted.budgetFallback = checkedBudgetFallback(request.budgetFallback);
  const budgets = mask.has('budgets') ? checkedBudgets(request.budgets) : undefined;

  const change = (before: Project): Project => {
    own.check(before);
    if (before.deletedAtMs !== undefined) throw fault('project_deleted', {});
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
