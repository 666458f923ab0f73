// Projects of an account, and the budgets of the account itself.
import type { AccountBudgets, Budget, BudgetPeriod, UpdateAccountBudgets } from '../../../gateway/console/schemas/budgets.js';
import type { CreateProject, Privacy, Project, UpdateProject } from '../../../gateway/console/schemas/projects.js';
import { api, type Page } from './client.js';

export type { AccountBudgets, Budget, BudgetPeriod, CreateProject, Project, UpdateProject };

const projectsOf = (accountId: string): string => `/accounts/${accountId}/projects`;
const pageSize = 200;

/** All projects in order of creation, deleted ones included. */
export async function listProjects(accountId: string, signal?: AbortSignal): Promise<readonly Project[]> {
  const all: Project[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<Project> = await api.get(projectsOf(accountId), { query: { limit: pageSize, cursor }, signal });
    all.push(...page.data);
    cursor = page.next;
  } while (cursor !== null);
  return all;
}

export const getProject = (accountId: string, projectId: string, signal?: AbortSignal): Promise<Project> =>
  api.get(`${projectsOf(accountId)}/${projectId}`, { signal });

export const createProject = (accountId: string, fields: CreateProject, idempotencyKey: string): Promise<Project> =>
  api.post(projectsOf(accountId), { body: fields, idempotencyKey });

export const updateProject = (accountId: string, projectId: string, changes: UpdateProject): Promise<Project> =>
  api.patch(`${projectsOf(accountId)}/${projectId}`, { body: changes });

export const deleteProject = (accountId: string, projectId: string): Promise<void> => api.delete(`${projectsOf(accountId)}/${projectId}`);

export const getPrivacy = (accountId: string, signal?: AbortSignal): Promise<Privacy> =>
  api.get(`/accounts/${accountId}/privacy`, { signal });

export const updatePrivacy = (accountId: string, changes: { readonly never_log_prompts: boolean }): Promise<Privacy> =>
  api.patch(`/accounts/${accountId}/privacy`, { body: changes });

export const getAccountBudgets = (accountId: string, signal?: AbortSignal): Promise<AccountBudgets> =>
  api.get(`/accounts/${accountId}/budgets`, { signal });

export const updateAccountBudgets = (accountId: string, changes: UpdateAccountBudgets): Promise<AccountBudgets> =>
  api.patch(`/accounts/${accountId}/budgets`, { body: changes });
