// Deletes expired idempotency keys.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { idFromBytes } from '#kit/id.js';
import { deleteKey, type KeyRow, keyFromRow, KeyState, leaseOfLost, lockKey } from './keyed-calls.js';
import { isOpen } from '../records/open-calls.js';

/**
 * Deletes up to `limit` expired keys, with the responses stored under them, and returns how many had expired. A key whose call still runs is
 * checked again after `ttlMs`.
 */
export async function deleteExpiredKeys(db: Database, nowMs: number, ttlMs: number, limit: number): Promise<number> {
  const rows = await db.query('SELECT * FROM idempotency_key WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?', [nowMs, limit]);
  if (rows.length === 0) return 0;
  const expired = rows.map(keyFromRow).toSorted((a, b) => a.accountId.compare(b.accountId) || a.keyHash.compare(b.keyHash));
  await db.plainTransaction(async (tx) => {
    for (const { accountId, keyHash } of expired) {
      const key = await lockKey(tx, accountId, keyHash);
      if (key === undefined || key.expiresAtMs > nowMs) continue;
      if (!(await isRunning(tx, key, nowMs))) await deleteKey(tx, key);
      else
        await tx.run('UPDATE idempotency_key SET expires_at_ms = ? WHERE account_id = ? AND key_hash = ?', [
          nowMs + ttlMs,
          accountId,
          keyHash,
        ]);
    }
  });
  return rows.length;
}

/**
 * Reports whether the call that has the key may still run: it is in flight, or may not have been checkpointed yet. In the grace period of leases, every
 * call that is not known to be lost may still run.
 */
export async function isRunning(tx: PlainTransaction, key: KeyRow, nowMs: number, isGrace = false): Promise<boolean> {
  if (key.state !== KeyState.running || key.leaseUntilMs === leaseOfLost) return false;
  return isGrace || key.leaseUntilMs > nowMs || isOpen(tx, idFromBytes('req', key.callId));
}
