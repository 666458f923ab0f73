// Refunds that the ledger has not booked yet.
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain-transaction.js';
import { asBigInt, asBytes, asNumber, optional } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { deleteKey, lockKey } from './keyed-calls.js';
import { bytesOf } from './record-rows.js';

const selectDue =
  'SELECT refund_outbox.id, refund_outbox.account_id, refund_outbox.attempts, captured_nano_usd FROM refund_outbox' +
  ' JOIN usage_record ON usage_record.id = refund_outbox.id WHERE next_attempt_at_ms <= ? ORDER BY next_attempt_at_ms LIMIT ?';

/** The answer of a call that was withheld from its client. */
export interface UndeliveredAnswer {
  readonly callId: string;
  readonly accountId: string;
  /** Empty if the call has none. */
  readonly keyHash: Buffer;
}

/** A refund that is due. */
export interface PendingRefund {
  readonly callId: string;
  readonly accountId: string;
  /** Undefined until the ledger has settled the charge. */
  readonly capturedNanoUsd: bigint | undefined;
  readonly attempts: number;
}

/** Queues the refund of a call, unless it is queued, and releases the call's idempotency key with the stored answer. */
export async function enqueueRefund(db: Database, answer: UndeliveredAnswer, nowMs: number): Promise<void> {
  try {
    await db.plainTransaction((tx) => enqueue(tx, answer, nowMs));
  } catch (error) {
    // A report of the same call, made at the same moment, has committed the same changes.
    if (!isDuplicate(error)) throw error;
  }
}

async function enqueue(tx: PlainTransaction, { callId, accountId, keyHash }: UndeliveredAnswer, nowMs: number): Promise<void> {
  const [id, account] = [bytesOf('req', callId), bytesOf('acct', accountId)];
  const key = keyHash.length === 0 ? undefined : await lockKey(tx, account, keyHash);
  if (key?.callId.equals(id) === true) await deleteKey(tx, key);
  const [queued] = await tx.query('SELECT id FROM refund_outbox WHERE id = ?', [id]);
  if (queued !== undefined) return;
  const values = [id, account, 0, nowMs, nowMs];
  await tx.run('INSERT INTO refund_outbox (id, account_id, attempts, next_attempt_at_ms, created_at_ms) VALUES (?, ?, ?, ?, ?)', values);
}

/** Returns at most `limit` refunds that are due. Several replicas may return the same ones; the ledger books each once. */
export async function dueRefunds(db: Database, nowMs: number, limit: number): Promise<PendingRefund[]> {
  const rows = await db.query(selectDue, [nowMs, limit]);
  return rows.map((row) => ({
    callId: idFromBytes('req', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    capturedNanoUsd: optional(row['captured_nano_usd'], asBigInt),
    attempts: asNumber(row['attempts']),
  }));
}

/** Removes a refund that is booked. */
export async function removeRefund(db: Database, callId: string): Promise<void> {
  await db
    .knex('refund_outbox')
    .where({ id: bytesOf('req', callId) })
    .delete();
}

/** Sets when a refund is retried. */
export async function postponeRefund(db: Database, { callId, attempts }: PendingRefund, nextAttemptAtMs: number): Promise<void> {
  const changes = { attempts: attempts + 1, next_attempt_at_ms: nextAttemptAtMs };
  await db
    .knex('refund_outbox')
    .where({ id: bytesOf('req', callId) })
    .update(changes);
}
