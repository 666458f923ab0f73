// In which projects of an account the acting user has a role.
import type { CallContext } from '#client/call-context.js';
import { satisfies } from './rules.js';

/** All projects of an account, or these. */
export type Projects = 'all' | ReadonlySet<string>;

/** Returns the projects of an account in which the acting user has this role: all without a user, for operators, and with the role in the account. */
export function projectsOf({ actor }: Pick<CallContext, 'actor'>, accountId: string, role: 'viewer' | 'developer'): Projects {
  if (actor === undefined || actor.isOperator || satisfies(actor.roles.get(accountId), role)) return 'all';
  const roles = [...(actor.projectRoles.get(accountId) ?? [])];
  return new Set(roles.filter(([, has]) => satisfies(has, role)).map(([projectId]) => projectId));
}

/**
 * Reports whether the acting user is a signed-in member of the account, or of the project, with this role. Unlike elsewhere, being an operator is not
 * enough, and neither management keys nor callers that act in their own name satisfy it.
 */
export function isMember(
  { actor }: Pick<CallContext, 'actor'>,
  role: 'developer' | 'admin' | 'owner',
  accountId: string,
  projectId = '',
): boolean {
  if (actor === undefined || actor.managementKey !== undefined) return false;
  return satisfies(actor.roles.get(accountId), role) || satisfies(actor.projectRoles.get(accountId)?.get(projectId), role);
}

/** Reports whether the project is one of these. */
export function includesProject(projects: Projects, projectId: string): boolean {
  return projects === 'all' || projects.has(projectId);
}
