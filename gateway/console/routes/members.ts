// Who belongs to an account, who is asked in, and what was done there.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { ListAuditEventsRequest, type Role } from '#proto/auth/v1/users.js';
import { assertMayPut, roleName, roleNames } from '../access.js';
import { noteAudit } from '../audit.js';
import { bodies } from '../bodies.js';
import { contextOf } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { pageOf } from '../paging.js';
import { renderMember, renderOpenInvitation } from '../render/people.js';
import { orNull } from '../render/values.js';
import { accountOf, visitorOf } from '../session.js';

/** GET members. */
export function listMembers(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { members } = await deps.peers.users.listMembers({ accountId }, contextOf(deps));
    ctx.body = { data: members.map(renderMember) };
  };
}

/** PUT members/{user}: another role. */
export function putMember(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId, role: actor } = accountOf(ctx, 'change members');
    const word = (await bodies.putMember(ctx)).role;
    const role = roleNames[word];
    const userId = String(ctx['params'].user);
    const present = await presentRole(accountId, userId, deps);
    // Whoever does not belong yet is asked in by an invitation, which shows that they want to.
    if (present === undefined)
      throw new AppError('not_found', 'Nobody with this id belongs to the account; send them an invitation.', {
        details: { what: 'member' },
      });
    assertMayPut(actor, present, role);
    const { member } = await deps.peers.users.putMember({ accountId, userId, role }, contextOf(deps));
    await noteAudit(ctx, deps, {
      accountId,
      action: 'member.put',
      targetId: userId,
      detail: { role: word, former_role: roleName(present) },
    });
    ctx.body = renderMember(member!);
  };
}

/** DELETE members/{user}. */
export function deleteMember(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const userId = String(ctx['params'].user);
    // Everybody may leave.
    const isSelf = userId === visitorOf(ctx).user.id;
    const { accountId, role: actor } = accountOf(ctx, isSelf ? 'look' : 'change members');
    if (!isSelf) assertMayPut(actor, await presentRole(accountId, userId, deps), undefined);
    await deps.peers.users.deleteMember({ accountId, userId }, contextOf(deps));
    await noteAudit(ctx, deps, { accountId, action: 'member.remove', targetId: userId });
    ctx.status = 204;
  };
}

/** GET invitations. */
export function listInvitations(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change members');
    const { invitations } = await deps.peers.users.listInvitations({ accountId }, contextOf(deps));
    ctx.body = { data: invitations.map(renderOpenInvitation) };
  };
}

/** POST invitations: the token of the link is in this answer and, where mail can be sent, in a mail to the invited. */
export function invite(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId, role: actor } = accountOf(ctx, 'change members');
    const body = await bodies.invite(ctx);
    const role = roleNames[body.role];
    assertMayPut(actor, undefined, role);
    const { invitation, token } = await deps.peers.users.createInvitation(
      { accountId, email: body.email, role, invitedByUserId: visitorOf(ctx).user.id },
      contextOf(deps),
    );
    await noteAudit(ctx, deps, {
      accountId,
      action: 'member.invite',
      targetId: invitation!.id,
      detail: { email: invitation!.email, role: body.role },
    });
    ctx.status = 201;
    ctx.body = { invitation: renderOpenInvitation(invitation!), token };
  };
}

/** DELETE invitations/{id}. */
export function revokeInvitation(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change members');
    const invitationId = String(ctx['params'].id);
    await deps.peers.users.revokeInvitation({ accountId, invitationId }, contextOf(deps));
    await noteAudit(ctx, deps, { accountId, action: 'member.uninvite', targetId: invitationId });
    ctx.status = 204;
  };
}

/** GET audit: what was done in the account, newest first. */
export function listAuditEvents(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change members');
    const { events: entries, nextPageToken } = await deps.peers.users.listAuditEvents(
      ListAuditEventsRequest.fromPartial({ accountId, ...pageOf(ctx) }),
      contextOf(deps),
    );
    const data = entries.map((entry) => ({
      id: entry.id,
      at: new Date(Number(entry.atMs)).toISOString(),
      actor: orNull(entry.actorName),
      address: orNull(entry.clientAddress),
      action: entry.action,
      target_id: entry.targetId,
      detail: JSON.parse(entry.detailJson) as unknown,
    }));
    ctx.body = { data, next: orNull(nextPageToken) };
  };
}

async function presentRole(accountId: string, userId: string, deps: ConsoleDeps): Promise<Role | undefined> {
  const { members } = await deps.peers.users.listMembers({ accountId }, contextOf(deps));
  return members.find(({ user }) => user?.id === userId)?.role;
}
