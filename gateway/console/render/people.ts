// People, sessions, members and invitations as JSON. Pure.
import { type Identity, type Invitation, MailState, type Member, type Session, type User } from '#proto/auth/v1/users.js';
import { permissionsOf, roleName } from '../access.js';
import type { Visitor } from '../session.js';
import { instant, orNull } from './values.js';

/** A person, as they and their fellow members see them. */
export function renderUser(user: User): Record<string, unknown> {
  return { id: user.id, email: user.email, name: user.name, is_operator: user.isOperator, has_password: user.hasPassword };
}

/** Who is asking, and where they belong. */
export function renderMe({ user, session, memberships }: Visitor): Record<string, unknown> {
  return {
    user: renderUser(user),
    session: { id: session.id, by_link: session.signedInWithLink, expires_at: instant(session.expiresAtMs) },
    accounts: memberships.map(({ account, role }) => ({
      id: account!.id,
      name: account!.name,
      suspended: account!.state === 2,
      role: roleName(role),
      permissions: permissionsOf(role),
    })),
  };
}

/** A place where somebody is signed in. */
export function renderSession(session: Session, presentId: string): Record<string, unknown> {
  return {
    id: session.id,
    present: session.id === presentId,
    created_at: instant(session.createdAtMs),
    last_used_at: instant(session.lastUsedAtMs),
    expires_at: instant(session.expiresAtMs),
    address: session.client?.address ?? '',
    user_agent: session.client?.userAgent ?? '',
  };
}

/** An identity by which somebody signs in, with the name of the provider where it is still the one that is set up. */
export function renderIdentity(
  identity: Identity,
  provider: { readonly issuer: string; readonly name: string } | undefined,
): Record<string, unknown> {
  const bare = (issuer: string): string => issuer.replace(/\/$/, '');
  const isPresent = provider !== undefined && bare(provider.issuer) === bare(identity.issuer);
  return {
    id: identity.id,
    provider: isPresent ? provider.name : identity.issuer,
    email: orNull(identity.email),
    created_at: instant(identity.createdAtMs),
  };
}

/** A member of an account. */
export function renderMember({ user, role, joinedAtMs: sinceMs }: Member): Record<string, unknown> {
  return { ...renderUser(user!), role: roleName(role), since: instant(sinceMs) };
}

/** An invitation; its link is told only when it is made. */
export function renderInvitation(invitation: Invitation): Record<string, unknown> {
  return {
    id: invitation.id,
    account_id: invitation.accountId,
    account_name: invitation.accountName,
    email: invitation.email,
    role: roleName(invitation.role),
    created_at: instant(invitation.createdAtMs),
    expires_at: instant(invitation.expiresAtMs),
  };
}

/** An invitation as those see it who may take it back: with how its mail stands. */
export function renderOpenInvitation(invitation: Invitation): Record<string, unknown> {
  return { ...renderInvitation(invitation), mail: renderMail(invitation.mailState, invitation.mailError) };
}

/** How a mail stands, and why it failed. */
export function renderMail(state: MailState, words: string) {
  return { state: mailStates[state] ?? 'none', words: orNull(words) };
}

const mailStates: Partial<Record<MailState, string>> = {
  [MailState.MAIL_STATE_PENDING]: 'pending',
  [MailState.MAIL_STATE_SENT]: 'sent',
  [MailState.MAIL_STATE_FAILED]: 'failed',
};
