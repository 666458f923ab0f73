// Projects of an account, and the budgets of the account itself.
import {
  type BudgetFallback,
  CreateProjectRequest,
  ListProjectsRequest,
  UpdateAccountBudgetsRequest,
  UpdateProjectRequest,
} from '#proto/auth/v1/auth.js';
import { spendOf } from '../budget-spend.js';
import type { OperationDeps } from '../deps.js';
import { budgetsOf, renderBudgets } from '../render/budgets.js';
import { renderProject } from '../render/projects.js';
import { rateLimitsOf } from '../render/rate-limits.js';
import { orNull } from '../render/values.js';
import { AccountBudgets, UpdateAccountBudgets } from '../schemas/budgets.js';
import { CreateProject, Privacy, Project, ProjectList, UpdatePrivacy, UpdateProject } from '../schemas/projects.js';
import { type Area, type Call, created, done, ok, operation } from '../table/operation.js';
import { updateMaskOf } from '../table/update-mask.js';

export const projects: Area = {
  title: 'Projects and budgets',
  description: 'The projects of an account, which group its keys, and the budgets of the account itself.',
  operations: [
    operation('GET', '/accounts/{account}/projects', {
      summary: 'List the projects in order of creation, including deleted ones.',
      who: 'see projects',
      scope: 'projects:read',
      paged: true,
      answers: [ok(ProjectList)],
      handle: async (call, deps) => {
        const { accountId, page, context } = call;
        const request = ListProjectsRequest.fromPartial({ accountId, ...page, withKeyCounts: true });
        const { projects: found, keyCounts, nextPageToken } = await deps.peers.auth.listProjects(request, context());
        const budgets = found.flatMap((project) => project.budgets);
        const spend = await spendOf(budgets, call, deps);
        return { data: found.map((project, index) => renderProject(project, spend, keyCounts[index]!)), next: orNull(nextPageToken) };
      },
    }),
    operation('POST', '/accounts/{account}/projects', {
      summary: 'Create a project.',
      who: 'change projects',
      scope: 'projects:write',
      idempotency: 'A repeat creates no second project.',
      body: CreateProject,
      answers: [created(Project)],
      errors: { failed_precondition: 'The account has reached its maximum number of projects.' },
      handle: async (call, deps) => {
        const { accountId, body, idempotencyKey, context } = call;
        const request = CreateProjectRequest.fromPartial({
          accountId,
          name: body.name,
          ...(body.models == null ? {} : { models: { modelIds: body.models } }),
          ...(body.rate_limits == null ? {} : { rateLimits: rateLimitsOf(body.rate_limits) }),
          budgets: budgetsOf(body.budgets ?? []),
          ...fallbackOf(body),
          idempotencyKey,
        });
        const { project } = await deps.peers.auth.createProject(request, context());
        return shown(project!.id, call, deps);
      },
    }),
    operation('GET', '/accounts/{account}/projects/{project}', {
      summary: 'Show a project.',
      who: 'see projects',
      scope: 'projects:read',
      answers: [ok(Project)],
      handle: (call, deps) => shown(call.params.project, call, deps),
    }),
    operation('PATCH', '/accounts/{account}/projects/{project}', {
      summary:
        'Change a project: absent fields are unchanged; null removes the restriction to models, the limits, the budgets, the cheaper model or the prompt log.',
      who: 'change projects',
      scope: 'projects:write',
      body: UpdateProject,
      answers: [ok(Project)],
      errors: {
        failed_precondition: 'The project is deleted, or its account never logs prompts.',
        role_not_permitted: 'Also when an operator who is neither an admin nor an owner of the account has prompts logged for longer.',
      },
      handle: async (call, deps) => {
        const { accountId, body, params, context } = call;
        const request = UpdateProjectRequest.fromPartial({
          projectId: params.project,
          accountId,
          name: body.name ?? '',
          models: body.models === null ? { allModels: true } : { modelIds: body.models ?? [] },
          ...(body.rate_limits == null ? {} : { rateLimits: rateLimitsOf(body.rate_limits) }),
          budgets: budgetsOf(body.budgets ?? []),
          ...fallbackOf(body),
          promptLogDays: body.prompt_log_days ?? 0,
          updateMask: updateMaskOf(body, {
            name: 'name',
            models: 'models',
            rate_limits: 'rate_limits',
            budgets: 'budgets',
            budget_fallback: 'budget_fallback',
            prompt_log_days: 'prompt_log_days',
          }),
        });
        await deps.peers.auth.updateProject(request, context());
        return shown(params.project, call, deps);
      },
    }),
    operation('DELETE', '/accounts/{account}/projects/{project}', {
      summary: 'Delete a project. Its past usage is kept.',
      who: 'change projects',
      scope: 'projects:write',
      answers: [done()],
      errors: { failed_precondition: 'The project has keys that are not revoked, or is the default project.' },
      handle: async ({ accountId, params, context }, deps) => {
        await deps.peers.auth.deleteProject({ projectId: params.project, accountId }, context());
      },
    }),
    operation('GET', '/accounts/{account}/budgets', {
      summary: 'Show the budgets of the account, and the time zone in which the periods of all of its budgets begin.',
      who: 'look',
      scope: 'billing:read',
      answers: [ok(AccountBudgets)],
      handle: async (call, deps) => {
        const { account } = await deps.peers.auth.getAccount({ accountId: call.accountId }, call.context());
        const { budgets, timeZone } = account!;
        return { budgets: renderBudgets(budgets, await spendOf(budgets, call, deps)), time_zone: timeZone };
      },
    }),
    operation('PATCH', '/accounts/{account}/budgets', {
      summary: 'Change the budgets or the time zone of the account: absent fields are unchanged; null removes the budgets.',
      who: 'change projects',
      body: UpdateAccountBudgets,
      answers: [ok(AccountBudgets)],
      handle: async (call, deps) => {
        const { accountId, body, context } = call;
        const request = UpdateAccountBudgetsRequest.fromPartial({
          accountId,
          budgets: budgetsOf(body.budgets ?? []),
          timeZone: body.time_zone ?? '',
          updateMask: updateMaskOf(body, { budgets: 'budgets', time_zone: 'time_zone' }),
        });
        const { account } = await deps.peers.auth.updateAccountBudgets(request, context());
        const { budgets, timeZone } = account!;
        return { budgets: renderBudgets(budgets, await spendOf(budgets, call, deps)), time_zone: timeZone };
      },
    }),
    operation('GET', '/accounts/{account}/privacy', {
      summary: 'Show whether the account permits its projects to log prompts and answers.',
      who: 'see projects',
      answers: [ok(Privacy)],
      handle: async ({ accountId, context }, { peers, config }) => {
        const { account } = await peers.auth.getAccount({ accountId }, context());
        return { never_log_prompts: account!.neverLogPrompts, prompt_logging: config.promptLogging };
      },
    }),
    operation('PATCH', '/accounts/{account}/privacy', {
      summary: 'Forbid projects to log prompts and answers, which also deletes existing logs, or permit it again. Only for owners.',
      who: 'change projects',
      body: UpdatePrivacy,
      answers: [ok(Privacy)],
      errors: { role_not_permitted: 'Also when an operator who is not an owner of the account permits it.' },
      handle: async ({ accountId, body, context }, { peers, config }) => {
        const { account } = await peers.auth.updateAccountPrivacy({ accountId, neverLogPrompts: body.never_log_prompts }, context());
        return { never_log_prompts: account!.neverLogPrompts, prompt_logging: config.promptLogging };
      },
    }),
  ],
};

async function shown(projectId: string, call: Call, deps: OperationDeps): Promise<Project> {
  const { accountId, context } = call;
  const { project, keyCount } = await deps.peers.auth.getProject({ projectId, accountId }, context());
  return renderProject(project!, await spendOf(project!.budgets, call, deps), keyCount);
}

function fallbackOf({ budget_fallback: fallback }: UpdateProject): { budgetFallback?: BudgetFallback } {
  return fallback == null ? {} : { budgetFallback: { modelId: fallback.model, fromPercent: fallback.from_percent } };
}
