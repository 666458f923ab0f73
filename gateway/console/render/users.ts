// Users, sessions, members and invitations as JSON. Pure.
import { NotificationState } from '#proto/auth/v1/notifications.js';
import {
  type Identity as IdentityMessage,
  type Invitation as InvitationMessage,
  type Member as MemberMessage,
  type ProjectRole as ProjectRoleMessage,
  Role,
  type Session as SessionMessage,
  SignInMethod,
  type User as UserMessage,
} from '#proto/auth/v1/users.js';
import { AccountState } from '#proto/auth/v1/auth.js';
import { permissionsOf, roleName } from '../session/access.js';
import type { LinkMail, Member, OfferedInvitation, OpenInvitation, ProjectRole, User } from '../schemas/members.js';
import type { OperatorUser } from '../schemas/operator/users.js';
import type { Identity, Me, Session } from '../schemas/profile.js';
import type { Visitor } from '../session/session.js';
import { deviceOf } from './device.js';
import { instant, orNull } from './values.js';

/** Renders a user for themselves and for other members. */
export function renderUser(user: UserMessage): User {
  return {
    id: user.id,
    email: user.email,
    email_verified: user.emailVerified,
    name: user.name,
    is_operator: user.isOperator,
    has_password: user.hasPassword,
    has_second_factor: user.hasSecondFactor,
  };
}

/** Renders a user for operators. */
export function renderOperatorUser(user: UserMessage): OperatorUser {
  return { ...renderUser(user), is_disabled: user.isDisabled, created_at: instant(user.createdAtMs) };
}

/** Renders the signed-in user and their accounts. */
export function renderMe({ user, session, memberships, secondFactorMissing, secondFactorAccounts }: Visitor): Me {
  return {
    user: renderUser(user),
    session: { id: session.id, by_link: session.method === SignInMethod.SIGN_IN_METHOD_LINK, expires_at: instant(session.expiresAtMs) },
    second_factor_missing: secondFactorMissing,
    second_factor_accounts: secondFactorAccounts.map(({ id, name }) => ({ id, name })),
    accounts: memberships.map(({ account, role, projectRoles }) => ({
      id: account!.id,
      name: account!.name,
      suspended: account!.state === AccountState.ACCOUNT_STATE_SUSPENDED,
      role: roleName(role),
      projects: projectRoles.map(renderProjectRole),
      permissions: permissionsOf(role, projectRoles),
    })),
  };
}

/** Renders a session. */
export function renderSession(session: SessionMessage, presentId: string): Session {
  return {
    id: session.id,
    present: session.id === presentId,
    created_at: instant(session.createdAtMs),
    last_used_at: instant(session.lastUsedAtMs),
    expires_at: instant(session.expiresAtMs),
    address: session.client?.address ?? '',
    ...deviceOf(session.client?.userAgent ?? ''),
    user_agent: session.client?.userAgent ?? '',
  };
}

/** Renders an identity with which a user signs in, with the provider's name if it is the configured provider. */
export function renderIdentity(
  identity: IdentityMessage,
  provider: { readonly issuer: string; readonly name: string } | undefined,
): Identity {
  const bare = (issuer: string): string => issuer.replace(/\/$/, '');
  const isPresent = provider !== undefined && bare(provider.issuer) === bare(identity.issuer);
  return {
    id: identity.id,
    provider: isPresent ? provider.name : identity.issuer,
    email: orNull(identity.email),
    created_at: instant(identity.createdAtMs),
  };
}

/** Renders a member of an account. */
export function renderMember({ user, role, projectRoles, joinedAtMs }: MemberMessage): Member {
  return { ...renderUser(user!), role: roleName(role), projects: projectRoles.map(renderProjectRole), since: instant(joinedAtMs) };
}

function renderProjectRole({ projectId, role }: ProjectRoleMessage): ProjectRole {
  return { project_id: projectId, role: role === Role.ROLE_DEVELOPER ? 'developer' : 'viewer' };
}

/** Renders an invitation without its link. */
export function renderInvitation(invitation: InvitationMessage): OfferedInvitation {
  return {
    id: invitation.id,
    account_id: invitation.accountId,
    account_name: invitation.accountName,
    email: invitation.email,
    role: roleName(invitation.role),
    projects: invitation.projectRoles.map(renderProjectRole),
    created_at: instant(invitation.createdAtMs),
    expires_at: instant(invitation.expiresAtMs),
  };
}

/** Renders an open invitation with the state of its mail, for members who may revoke it. */
export function renderOpenInvitation(invitation: InvitationMessage): OpenInvitation {
  return { ...renderInvitation(invitation), mail: renderLinkMail(invitation.mailState, invitation.mailError) };
}

/** Renders the state of a mail, and why it failed. */
export function renderLinkMail(state: NotificationState, words: string): LinkMail {
  return { state: mailStates[state] ?? 'none', words: orNull(words) };
}

const mailStates: Partial<Record<NotificationState, LinkMail['state']>> = {
  [NotificationState.NOTIFICATION_STATE_PENDING]: 'pending',
  [NotificationState.NOTIFICATION_STATE_DELIVERED]: 'sent',
  [NotificationState.NOTIFICATION_STATE_FAILED]: 'failed',
  [NotificationState.NOTIFICATION_STATE_WITHDRAWN]: 'failed',
};
