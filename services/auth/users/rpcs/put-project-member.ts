// PutProjectMember: gives a member a role in one project, or takes it away.
import type { CallContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import { type ProjectRole, type PutProjectMemberRequest, type PutProjectMemberResponse, Role } from '#proto/auth/v1/users.js';
import { accountIdBytes, checkedId, projectIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { ownProject } from '../../requests/own-project.js';
import { mayManageMembers } from '../actor-rules.js';
import { roleWord } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { lockActor } from '../lock-actor.js';
import { checkedProjectRole, checkedProjectRoles, projectRolesMax } from '../fields.js';

/**
 * Raises invalid_request, not_found for a project that the account does not have or a user who is not a member, and role_not_permitted for an actor who has
 * just lost the role for it.
 */
export async function putProjectMember(
  request: PutProjectMemberRequest,
  context: CallContext,
  { audit, db, users, members, projects, log }: UserDeps,
): Promise<PutProjectMemberResponse> {
  const { projectId, role } = request;
  const accountId = accountIdBytes(request.accountId);
  const userId = checkedId('user_id', 'user', request.userId);
  if (role !== Role.ROLE_UNSPECIFIED) checkedProjectRole(role);
  ownProject(request).check(found(await projects.find(projectIdBytes(projectId)), 'project'));
  const { user } = found(await users.find(userId), 'member');
  await db.transaction(async (tx) => {
    await lockActor(tx, context, { users });
    let former: Role | undefined;
    const change = (roles: readonly ProjectRole[], open: readonly ProjectRole[]): ProjectRole[] => {
      former = roles.find((each) => each.projectId === projectId)?.role;
      const isOther = (each: ProjectRole): boolean => each.projectId !== projectId;
      const others = roles.filter(isOther);
      if (role === Role.ROLE_UNSPECIFIED) return others;
      // A role in a deleted project shows only its past usage, and makes room for another one.
      const kept = others.length < projectRolesMax ? others : open.filter(isOther);
      return checkedProjectRoles([...kept, { projectId, role }]);
    };
    const isMember = await members.changeProjectRoles(tx, accountId, userId, change, mayManageMembers(context));
    if (!isMember) throw fault('no_member', {}, { details: { what: 'member' } });
    if (former === role || (former === undefined && role === Role.ROLE_UNSPECIFIED)) return;
    const detail = {
      email: user.email,
      project: projectId,
      role: role === Role.ROLE_UNSPECIFIED ? null : roleWord(role),
      ...(former === undefined ? {} : { former_role: roleWord(former) }),
    };
    await audit.append(tx, context, { action: 'member.project', accountId: request.accountId, targetId: user.id, detail });
  });
  log.info({ account_id: request.accountId, project_id: projectId, user_id: user.id, role }, 'role in a project changed');
  return { member: (await members.ofAccount(accountId)).find((member) => member.user!.id === user.id) };
}
