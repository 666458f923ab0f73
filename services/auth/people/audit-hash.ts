// How entries of the audit log are chained, so that whoever changes one has to change all after it. Pure.
import { createHash } from 'node:crypto';
import type { AuditEntry } from '#proto/auth/v1/people.js';

/** What stands before the first entry: 32 zero bytes. */
export const chainStart: Buffer = Buffer.alloc(32);

/**
 * SHA-256 over the hash of the entry before, followed by these fields as a JSON list of texts in UTF-8, so that a log that was
 * exported can be checked by anybody: number, id, at_ms, actor_user_id, actor_name, client_address, account_id, action, target_id,
 * detail_json.
 */
export function auditHash(before: Uint8Array, entry: Omit<AuditEntry, 'hash'>): Buffer {
  const { number, id, atMs, actorUserId, actorName, clientAddress, accountId, action, targetId, detailJson } = entry;
  const fields = [String(number), id, String(atMs), actorUserId, actorName, clientAddress, accountId, action, targetId, detailJson];
  return createHash('sha256').update(before).update(JSON.stringify(fields)).digest();
}
