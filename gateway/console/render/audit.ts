// Audit events as JSON. Pure.
import type { AuditEvent as AuditEventMessage } from '#proto/auth/v1/users.js';
import type { AccountAuditEvent } from '../schemas/members.js';
import type { AuditEvent } from '../schemas/operator/audit.js';
import { instant, orNull } from './values.js';

/** Renders an audit event for the members of its account. */
export function renderAccountAuditEvent(entry: AuditEventMessage): AccountAuditEvent {
  const { id, at, actor, actor_user_id, address, action, target_id, detail } = renderAuditEvent(entry);
  return { id, at, actor, actor_user_id, address, action, target_id, detail };
}

/** Renders an audit event for operators. */
export function renderAuditEvent(entry: AuditEventMessage): AuditEvent {
  return {
    id: entry.id,
    at: instant(entry.atMs),
    actor_user_id: orNull(entry.actorUserId),
    actor: orNull(entry.actorName),
    address: orNull(entry.clientAddress),
    caller: entry.caller,
    account_id: orNull(entry.accountId),
    action: entry.action,
    target_id: entry.targetId,
    detail: JSON.parse(entry.detailJson) as Record<string, unknown>,
    number: Number(entry.number),
    hash: Buffer.from(entry.hash).toString('hex'),
  };
}
