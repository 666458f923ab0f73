// The hash chain of the audit log: if one entry is changed, the hashes of all later entries no longer match. Pure.
import { createHash } from 'node:crypto';
import type { AuditEvent } from '#proto/auth/v1/users.js';

/** The hash before the first entry: 32 zero bytes. */
export const chainStart: Buffer = Buffer.alloc(32);

/**
 * Returns the SHA-256 over the hash of the previous entry, followed by these fields as a JSON list of texts in UTF-8, so that an exported
 * log can be checked without Tollgate: number, id, at_ms, actor_user_id, actor_name, client_address, caller, account_id, action,
 * target_id, detail_json.
 */
export function auditHash(before: Uint8Array, entry: Omit<AuditEvent, 'hash'>): Buffer {
  const { number, id, atMs, actorUserId, actorName, clientAddress, caller, accountId, action, targetId, detailJson } = entry;
  const fields = [String(number), id, String(atMs), actorUserId, actorName, clientAddress, caller, accountId, action, targetId, detailJson];
  return createHash('sha256').update(before).update(JSON.stringify(fields)).digest();
}
