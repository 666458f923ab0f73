// The queries of the pages about projects, and how they are refreshed after a change.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { listProjects } from '../../api/projects.js';
import { useAccount } from '../../session/account.js';

/** Spend changes without user action. Refreshed less often than on the page of a project, because there may be many projects. */
const refetchMs = 5000;
const namesMs = 30_000;

/** The beginning of the query keys of an account's projects and budgets. */
export const projectsKey = (accountId: string) => ['projects', accountId] as const;
/** One project. */
export const projectKey = (accountId: string, projectId: string) => ['projects', accountId, 'one', projectId] as const;
/** Whether the account permits logging prompts. */
export const privacyKey = (accountId: string) => ['projects', accountId, 'privacy'] as const;
/** The budgets of the account itself. */
export const accountBudgetsKey = (accountId: string) => ['projects', accountId, 'budgets'] as const;

/** All projects of the account; `isLive` also follows what is spent of their budgets. */
export function useProjects({ isLive = false } = {}) {
  const { id } = useAccount();
  return useQuery({
    queryKey: [...projectsKey(id), 'list'],
    queryFn: ({ signal }) => listProjects(id, signal),
    ...(isLive ? { refetchInterval: refetchMs } : { staleTime: namesMs }),
  });
}

/** Returns the name of a project; its id while the names are not known. */
export function useProjectName(): (projectId: string) => string {
  const { data } = useProjects();
  const names = new Map(data?.map(({ id, name }) => [id, name]));
  return (projectId) => names.get(projectId) ?? projectId;
}

/** Returns a function that fetches everything about projects again after a change. */
export function useProjectsChanged(): () => void {
  const { id } = useAccount();
  const client = useQueryClient();
  return () => void client.invalidateQueries({ queryKey: projectsKey(id) });
}
