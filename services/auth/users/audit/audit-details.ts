// Actors and details of audit events about users. Pure.
import type { AuditEvent } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import { type Client, type ProjectRole, Role, type Session, type User } from '#proto/auth/v1/users.js';

/** Returns the user as the actor of a request that proves who they are. */
export function provenActor({ id, email }: User, { address }: Client): NonNullable<AuditEvent['actor']> {
  return { userId: id, email, clientAddress: address };
}

/** Returns the user of a session as the actor of a request about themselves. */
export function sessionActor(
  { session, stored }: { readonly session: Session; readonly stored: { readonly user: User } },
  { actor }: CallContext,
): NonNullable<AuditEvent['actor']> {
  return { userId: stored.user.id, email: stored.user.email, clientAddress: actor?.clientAddress ?? session.client!.address };
}

/** Returns the fields that an operator can change, as details of an audit event. */
export function userDetail({ email, name, isDisabled, isOperator }: User): object {
  return { email, name, is_disabled: isDisabled, is_operator: isOperator };
}

/** Returns the roles in projects as details of an audit event, by project id; nothing without any. */
export function projectRoleWords(roles: readonly ProjectRole[]): { project_roles?: Record<string, string> } {
  if (roles.length === 0) return {};
  return { project_roles: Object.fromEntries(roles.map(({ projectId, role }) => [projectId, roleWord(role)])) };
}

/** Returns the name of a role in audit events, such as "developer". */
export function roleWord(role: Role): string {
  return Role[role].slice('ROLE_'.length).toLowerCase();
}
