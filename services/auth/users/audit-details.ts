// What audit events say about users. Pure.
import type { AuditEvent } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import { type Client, Role, type User } from '#proto/auth/v1/users.js';
import type { SessionPerson } from './current-password.js';

/** The user as the actor of a request that proves who they are. */
export function provenActor({ id, email }: User, { address }: Client): NonNullable<AuditEvent['actor']> {
  return { userId: id, email, clientAddress: address };
}

/** The user of a session as the actor of a request about themselves. */
export function sessionActor({ person, session }: SessionPerson, { actor }: CallContext): NonNullable<AuditEvent['actor']> {
  return { userId: person.user.id, email: person.user.email, clientAddress: actor?.clientAddress ?? session.client!.address };
}

/** What an operator can change about a user. */
export function userDetail({ email, name, isDisabled, isOperator }: User): object {
  return { email, name, is_disabled: isDisabled, is_operator: isOperator };
}

/** For example "developer". */
export function roleWord(role: Role): string {
  return Role[role].slice('ROLE_'.length).toLowerCase();
}
