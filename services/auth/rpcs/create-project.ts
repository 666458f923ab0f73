// CreateProject: adds a project to an account.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { CreateProjectRequest, type CreateProjectResponse, type Project } from '#proto/auth/v1/auth.js';
import { Budget, BudgetScope } from '#proto/budget/v1/budget.js';
import type { RpcDeps } from '../deps.js';
import { changedBudgets, checkedBudgetFallback, checkedBudgets } from '../requests/budgets.js';
import { accountIdBytes, checkedModels, checkedName } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { projectDetail } from '../requests/project-detail.js';
import { checkedRateLimits } from '../requests/rate-limits.js';
import { firstOrRepeat, repeatableCall } from '../requests/repeat.js';

const projectsMax = 1000;

/** Creates a project; a repeat returns the first one. Raises invalid_request, not_found, failed_precondition and idempotency_mismatch. */
export async function createProject(request: CreateProjectRequest, context: CallContext, deps: RpcDeps): Promise<CreateProjectResponse> {
  const { accounts, audit, clock, feed, idempotency, projects, log } = deps;
  const accountId = accountIdBytes(request.accountId);
  const checked: CreateProjectRequest = {
    accountId: request.accountId,
    name: checkedName(request.name),
    models: request.models === undefined ? { allModels: true, modelIds: [] } : checkedModels(request.models),
    rateLimits: checkedRateLimits(request.rateLimits),
    budgets: checkedBudgets(request.budgets).map((setting) => Budget.fromPartial(setting)),
    idempotencyKey: '',
    budgetFallback: checkedBudgetFallback(request.budgetFallback),
  };
  const call = repeatableCall('create_project', request.idempotencyKey, CreateProjectRequest.encode(checked).finish());

  const create = async (): Promise<Project | undefined> => {
    found(await accounts.find(accountId), 'account');
    const project = newProject(checked, clock.nowMs());
    const event = { action: 'project.create', accountId: project.accountId, targetId: project.id, detail: projectDetail(project) };
    const checkCount = (others: number): void => {
      if (others >= projectsMax) throw fault('projects_full', { max: projectsMax });
    };
    if (!(await projects.add(project, call, checkCount, (tx) => audit.append(tx, context, event)))) return undefined;
    feed.wake();
    log.info({ project_id: project.id, account_id: project.accountId }, 'project created');
    return project;
  };
  return { project: await firstOrRepeat(call, idempotency, create, async (id) => found(await projects.find(id), 'project')) };
}

function newProject({ accountId, name, models, rateLimits, budgets, budgetFallback }: CreateProjectRequest, nowMs: number): Project {
  const id = newId('proj', nowMs);
  return {
    id,
    accountId,
    name,
    models,
    rateLimits,
    budgets: changedBudgets([], budgets, { scope: BudgetScope.BUDGET_SCOPE_PROJECT, scopeId: id }, nowMs),
    budgetFallback,
    promptLogDays: 0,
    createdAtMs: BigInt(nowMs),
    deletedAtMs: undefined,
    version: 1n,
    isDefault: false,
  };
}
