// The members of an account, its invitations and its audit events.
import { fault, fieldFault } from '#client/errors/fault.js';
import { isId } from '#kit/id.js';
import { ListAuditEventsRequest, Role } from '#proto/auth/v1/users.js';
import { assertAllowed, assertMayPut, roleNames } from '../session/access.js';
import { languageOf } from '../session/session.js';
import type { OperationDeps } from '../deps.js';
import { renderAccountAuditEvent } from '../render/audit.js';
import { renderMember, renderOpenInvitation } from '../render/users.js';
import { orNull } from '../render/values.js';
import {
  AccountAuditEventList,
  AccountAuditFilter,
  AccountSecurity,
  InvitationCreated,
  InvitationList,
  Invite,
  Member,
  MemberList,
  PutMember,
  PutProjectMember,
  UpdateAccountSecurity,
} from '../schemas/members.js';
import { type Area, type Call, created, done, ok, operation } from '../table/operation.js';

const errors = { role_not_permitted: 'Also when a user who is not an owner makes another user an owner, or changes or removes an owner.' };

export const members: Area = {
  title: 'Members',
  description: 'The members of an account, its invitations and its audit events.',
  operations: [
    operation('GET', '/accounts/{account}/members', {
      summary: 'List the members.',
      who: 'look',
      answers: [ok(MemberList)],
      handle: async ({ accountId, context }, { peers }) => {
        const { members: found } = await peers.users.listMembers({ accountId }, context());
        return { data: found.map(renderMember) };
      },
    }),
    operation('PUT', '/accounts/{account}/members/{user}', {
      summary: 'Change the role of a member.',
      who: 'change members',
      body: PutMember,
      answers: [ok(Member)],
      errors: { ...errors, failed_precondition: 'It is the last owner of the account.' },
      handle: async (call, deps) => {
        const { accountId, role: actor, body, params, context } = call;
        const role = roleNames[body.role];
        const present = await presentRole(call, deps);
        // New members are invited, and join only if they accept.
        if (present === undefined) throw fault('no_member', {}, { details: { what: 'member' } });
        assertMayPut(actor, present, role);
        const { member } = await deps.peers.users.putMember({ accountId, userId: params.user, role }, context());
        return renderMember(member!);
      },
    }),
    operation('PUT', '/accounts/{account}/members/{user}/projects/{project}', {
      summary: 'Give a member a role in one project, in addition to the role in the account.',
      who: 'change members',
      body: PutProjectMember,
      answers: [ok(Member)],
      handle: (call, deps) => putProjectMember(call, deps, roleNames[call.body.role]),
    }),
    operation('DELETE', '/accounts/{account}/members/{user}/projects/{project}', {
      summary: "Remove a member's role in one project.",
      who: 'change members',
      answers: [ok(Member)],
      handle: (call, deps) => putProjectMember(call, deps, Role.ROLE_UNSPECIFIED),
    }),
    operation('DELETE', '/accounts/{account}/members/{user}', {
      summary: 'Remove a member. Every member may leave; removing others needs permission to change members.',
      who: 'see projects',
      answers: [done()],
      errors: { ...errors, failed_precondition: 'It is the last owner of the account.' },
      handle: async (call, deps) => {
        const { accountId, role: actor, params, visitor, context } = call;
        if (params.user !== visitor.user.id) {
          assertAllowed(visitor.memberships, visitor.user.isOperator, accountId, 'change members');
          assertMayPut(actor, await presentRole(call, deps), undefined);
        }
        await deps.peers.users.deleteMember({ accountId, userId: params.user }, context());
      },
    }),
    operation('GET', '/accounts/{account}/invitations', {
      summary: 'List the open invitations.',
      who: 'change members',
      answers: [ok(InvitationList)],
      handle: async ({ accountId, context }, { peers }) => {
        const { invitations } = await peers.users.listInvitations({ accountId }, context());
        return { data: invitations.map(renderOpenInvitation) };
      },
    }),
    operation('POST', '/accounts/{account}/invitations', {
      summary: 'Invite a member.',
      who: 'change members',
      body: Invite,
      answers: [
        created(
          InvitationCreated,
          'The token of the link is only in this response and, if mail can be sent, in an email to the invited user.',
        ),
      ],
      errors: {
        ...errors,
        already_exists: 'The user is already a member of the account.',
        failed_precondition: 'The account already has 100 open invitations; revoke some.',
      },
      handle: async ({ ctx, accountId, role: actor, body, visitor, context }, deps) => {
        const role = roleNames[body.role];
        assertMayPut(actor, undefined, role);
        const projectRoles = (body.projects ?? []).map((each) => ({ projectId: each.project_id, role: roleNames[each.role] }));
        const request = { accountId, email: body.email, role, invitedByUserId: visitor.user.id, projectRoles, language: languageOf(ctx) };
        const { invitation, token } = await deps.peers.users.createInvitation(request, context());
        return { invitation: renderOpenInvitation(invitation!), token };
      },
    }),
    operation('DELETE', '/accounts/{account}/invitations/{id}', {
      summary: 'Revoke an invitation.',
      who: 'change members',
      answers: [done()],
      handle: async ({ accountId, params: { id: invitationId }, context }, deps) => {
        await deps.peers.users.revokeInvitation({ accountId, invitationId }, context());
      },
    }),
    operation('GET', '/accounts/{account}/security', {
      summary: 'Show whether the account requires a second factor for its members.',
      who: 'look',
      answers: [ok(AccountSecurity)],
      handle: async ({ accountId, context }, { peers }) => {
        const { account } = await peers.auth.getAccount({ accountId }, context());
        return { require_second_factor: account!.requireSecondFactor };
      },
    }),
    operation('PATCH', '/accounts/{account}/security', {
      summary: 'Require a second factor for all members of the account, or stop requiring it. Only for owners.',
      who: 'change members',
      body: UpdateAccountSecurity,
      answers: [ok(AccountSecurity)],
      handle: async ({ accountId, body, context }, { peers }) => {
        const request = { accountId, requireSecondFactor: body.require_second_factor };
        const { account } = await peers.auth.updateAccountSecurity(request, context());
        return { require_second_factor: account!.requireSecondFactor };
      },
    }),
    operation('GET', '/accounts/{account}/audit', {
      summary: 'List the audit events of the account, newest first.',
      who: 'change members',
      query: AccountAuditFilter,
      paged: true,
      answers: [ok(AccountAuditEventList)],
      handle: async ({ accountId, query: { actor = '' }, page, context }, { peers }) => {
        const withoutUser = actor === 'operator';
        if (actor !== '' && !withoutUser && !isId('user', actor) && !isId('mkey', actor)) throw fieldFault('actor', 'actor');
        const { events, nextPageToken } = await peers.users.listAuditEvents(
          ListAuditEventsRequest.fromPartial({ accountId, ...(withoutUser ? { withoutUser } : { actor }), ...page }),
          context(),
        );
        return { data: events.map(renderAccountAuditEvent), next: orNull(nextPageToken) };
      },
    }),
  ],
};

async function putProjectMember({ accountId, params, context }: Call<'user' | 'project'>, { peers }: OperationDeps, role: Role) {
  const request = { accountId, projectId: params.project, userId: params.user, role };
  return renderMember((await peers.users.putProjectMember(request, context())).member!);
}

async function presentRole({ accountId, params, context }: Call<'user'>, { peers }: OperationDeps): Promise<Role | undefined> {
  const { members: found } = await peers.users.listMembers({ accountId }, context());
  return found.find(({ user }) => user?.id === params.user)?.role;
}
