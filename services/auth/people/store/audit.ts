// The SQL of the audit log, which is only ever added to.
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asText } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { AuditEntry } from '#proto/auth/v1/people.js';
import type { Row } from '../../store/rows.js';

const columns = ['id', 'at_ms', 'actor_user_id', 'actor_name', 'client_address', 'account_id', 'action', 'target_id', 'detail'] as const;

/** Keeps what was done. */
export class AuditStore {
  constructor(private readonly db: Database) {}

  async append(entry: AuditEntry): Promise<void> {
    await this.db.knex('audit_entry').insert({
      id: idToBytes('aud', entry.id),
      at_ms: entry.atMs,
      actor_user_id: entry.actorUserId,
      actor_name: entry.actorName,
      client_address: entry.clientAddress,
      account_id: entry.accountId,
      action: entry.action,
      target_id: entry.targetId,
      detail: entry.detailJson,
    });
  }

  /** Up to `limit` entries, newest first, from the one behind `after` on; of one account, or of all. */
  async list(accountId: string, after: Buffer | undefined, limit: number): Promise<AuditEntry[]> {
    const query = this.db.knex('audit_entry').orderBy('id', 'desc').limit(limit).select(...columns);
    if (accountId !== '') query.where({ account_id: accountId });
    if (after !== undefined) query.where('id', '<', after);
    const rows: Row[] = await query;
    return rows.map((row) => ({
      id: idFromBytes('aud', asBytes(row['id'])),
      atMs: asBigInt(row['at_ms']),
      actorUserId: asText(row['actor_user_id']),
      actorName: asText(row['actor_name']),
      clientAddress: asText(row['client_address']),
      accountId: asText(row['account_id']),
      action: asText(row['action']),
      targetId: asText(row['target_id']),
      detailJson: asText(row['detail']),
    }));
  }
}
