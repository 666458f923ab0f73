// CreateInvitation: invites a user into an account.
import type { Knex } from 'knex';
import { fault } from '#client/errors/fault.js';
import { idFromBytes, idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import {
  type Invitation,
  type CreateInvitationRequest,
  type CreateInvitationResponse,
  type ProjectRole,
  Role,
} from '#proto/auth/v1/users.js';
import { accountIdBytes, checkedId, projectIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import { assertOpenProject } from '../../requests/own-project.js';
import { projectRoleWords, roleWord } from '../audit/audit-details.js';
import type { UserDeps } from '../deps.js';
import { checkedEmail, checkedProjectRoles, checkedRole } from '../fields.js';
import type { OutgoingNotification } from '../../notifications/model.js';
import { invitationMail } from '../mail/mail-templates.js';
import { mailStateOf } from '../mail/user-mails.js';
import { rolesBy } from '../management-access.js';
import { mintToken } from '../token.js';

/** Most mails of invitations within an hour, per account and per inviting user. */
export const mailsPerHourMax = { account: 20, user: 30 } as const;

/**
 * Raises invalid_request, not_found, already_exists for a member of the account, failed_precondition while the account has too many open invitations, and
 * role_not_permitted for an actor who has just lost the role for it, and for an admin who would replace the invitation of an owner.
 */
export async function createInvitation(
  request: CreateInvitationRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<CreateInvitationResponse> {
  const { accounts, audit, db, users, members, mails, notifier, lifetimes, clock, log } = deps;
  const account = found(await accounts.find(accountIdBytes(request.accountId)), 'account');
  checkedId('invited_by_user_id', 'user', request.invitedByUserId);
  const email = checkedEmail(request.email);
  const known = await users.findByEmail(email);
  const memberships = known === undefined ? [] : await members.ofUser(idToBytes('user', known.user.id)!);
  if (memberships.some((membership) => membership.account?.id === account.id)) {
    throw fault('member_exists', {}, { details: { field: 'email' } });
  }
  const nowMs = clock.nowMs();
  const { token, hash } = mintToken();
  const invitation = {
    id: newId('inv', nowMs),
    accountId: account.id,
    accountName: account.name,
    email,
    role: checkedRole(request.role),
    projectRoles: await projectRolesOf(request, deps),
    invitedByUserId: request.invitedByUserId,
    createdAtMs: BigInt(nowMs),
    expiresAtMs: BigInt(nowMs + lifetimes.invitationMs),
    ...mailStateOf(undefined),
  };
  const mail = await db.transaction(async (tx) => {
    if (context.actor !== undefined) await assertMayStillInvite(tx, invitation, deps);
    await members.invite(tx, invitation, hash);
    const composed = await compose(tx, invitation, token, { hasPassword: known?.user.hasPassword, language: request.language }, deps);
    if (composed !== undefined) await notifier.add(tx, composed);
    const detail = { email, role: roleWord(invitation.role), ...projectRoleWords(invitation.projectRoles) };
    await audit.append(tx, context, { action: 'member.invite', accountId: account.id, targetId: invitation.id, detail });
    return composed;
  });
  log.info({ invitation_id: invitation.id, account_id: account.id }, 'invitation created');
  return { invitation: { ...invitation, ...(await mails.stateOf(mail)) }, token };
}

/**
 * Locks the inviter and the members of the account. Raises role_not_permitted for an inviter who has lost their role since their actor token was signed:
 * their invitations have ended with it, and this one, whose link they see, would let them return. Also raises it if only
 * an owner may create the invitation, or replace the open one of the address.
 */
async function assertMayStillInvite(
  tx: Knex.Transaction,
  { accountId, email, role, invitedByUserId }: Pick<Invitation, 'accountId' | 'email' | 'role' | 'invitedByUserId'>,
  { users, members, clock }: UserDeps,
): Promise<void> {
  const userId = idToBytes('user', invitedByUserId)!;
  const inviter = await users.lock(tx, userId);
  await members.lock(tx, idToBytes('acct', accountId)!);
  const own = (await members.ofUser(userId, tx)).find(({ account }) => account?.id === accountId);
  const present = inviter === undefined ? undefined : rolesBy({ projectId: '' }, inviter.user, own)?.role;
  if (present !== Role.ROLE_OWNER && present !== Role.ROLE_ADMIN) throw fault('role_not_permitted', {});
  const replaced = await members.invitedRole(tx, { accountId, email }, clock.nowMs());
  if (present !== Role.ROLE_OWNER && [role, replaced].includes(Role.ROLE_OWNER)) throw fault('owners_only', {});
}

/** Raises invalid_request, and not_found for a project that the account does not have. */
async function projectRolesOf({ accountId, projectRoles }: CreateInvitationRequest, { projects }: UserDeps): Promise<ProjectRole[]> {
  const roles = checkedProjectRoles(projectRoles);
  for (const { projectId } of roles) assertOpenProject(await projects.find(projectIdBytes(projectId)), accountId);
  return roles;
}

/** Returns the mail of an invitation; undefined if no mail can be sent. */
async function compose(
  tx: Knex.Transaction,
  invitation: Invitation,
  token: string,
  { hasPassword, language }: { hasPassword: boolean | undefined; language: string },
  { users, mails }: UserDeps,
): Promise<OutgoingNotification | undefined> {
  const page = mails.address('/invitation');
  if (page === undefined) return undefined;
  const inviter = (await users.find(idToBytes('user', invitation.invitedByUserId)!, tx))?.user;
  const about = {
    accountName: invitation.accountName,
    role: invitation.role,
    byName: inviter?.name ?? '',
    byEmail: inviter?.emailVerified === true ? inviter.email : undefined,
    link: `${page}#${token}`,
    expiresAtMs: Number(invitation.expiresAtMs),
    hasPassword,
  };
  return mails.compose(tx, {
    // The store finds the state of the mail by the id of the invitation.
    id: idFromBytes('ntf', idToBytes('inv', invitation.id)!),
    kind: 'invitation',
    subject: invitation.id,
    to: invitation.email,
    content: invitationMail(about, language),
    budgets: new Map([
      [`account ${invitation.accountId}`, mailsPerHourMax.account],
      [`user ${invitation.invitedByUserId}`, mailsPerHourMax.user],
    ]),
  });
}
