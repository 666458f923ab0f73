// Refunds of answers that were not delivered. Those that are booked stay as long as their records, so that a restore can book them again in a ledger
// that was copied earlier.
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { asBigInt, asBytes, asNumber, optional } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { deleteKey, lockKey } from '../keyed-calls/keyed-calls.js';
import { bytesOf } from '../records/record-rows.js';

/** The state of a refund. */
export enum RefundState {
  /** It is delivered when it is due. */
  pending = 0,
  /** The ledger refused it permanently. */
  refused = 1,
  booked = 2,
}

const errorCharsMax = 200;
const selectDue =
  'SELECT refund_outbox.id, refund_outbox.account_id, refund_outbox.attempts, captured_nano_usd FROM refund_outbox' +
  ' JOIN usage_record ON usage_record.id = refund_outbox.id' +
  ` WHERE refund_outbox.state = ${RefundState.pending} AND next_attempt_at_ms <= ? ORDER BY next_attempt_at_ms LIMIT ?`;

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

/** Queues the refund of a call, unless it has one or was closed, and releases the call's idempotency key with the stored answer. */
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
  // Waits for an operator who is closing the charge.
  if (tx.engine === 'mysql') await tx.query('SELECT id FROM outbox WHERE id = ? FOR UPDATE', [id]);
  // An operator who closes a charge or its refund has decided that nothing is to be refunded.
  const known = 'SELECT id FROM refund_outbox WHERE id = ? UNION ALL SELECT id FROM closed_settlement WHERE id = ?';
  const [queued] = await tx.query(known, [id, id]);
  if (queued !== undefined) return;
  const columns = 'id, account_id, state, attempts, next_attempt_at_ms, created_at_ms, last_error';
  const values = [id, account, RefundState.pending, 0, nowMs, nowMs, ''];
  await tx.run(`INSERT INTO refund_outbox (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`, values);
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

/** Stores that a refund is booked, or that the ledger refused it permanently. */
export async function endRefund(db: Database, { callId, attempts }: PendingRefund, state: RefundState, error: string): Promise<void> {
  await db
    .knex('refund_outbox')
    .where({ id: bytesOf('req', callId), state: RefundState.pending })
    .update({ state, attempts: attempts + 1, last_error: error.slice(0, errorCharsMax) });
}

/** Sets when a refund is retried. */
export async function postponeRefund(db: Database, { callId, attempts }: PendingRefund, nextAttemptAtMs: number): Promise<void> {
  const changes = { attempts: attempts + 1, next_attempt_at_ms: nextAttemptAtMs };
  await db
    .knex('refund_outbox')
    .where({ id: bytesOf('req', callId) })
    .update(changes);
}

/** Queues all refunds again, for a ledger that may have been copied before it booked them; the ledger books each once. */
export async function requeueRefunds(db: Database, nowMs: number): Promise<void> {
  await db.knex('refund_outbox').update({ state: RefundState.pending, next_attempt_at_ms: nowMs });
}

/** Reports whether a refund of a settled charge has not been sent to the ledger. */
export async function hasUnsentRefunds(db: Database): Promise<boolean> {
  const unsent = db.knex('refund_outbox').join('usage_record', 'usage_record.id', 'refund_outbox.id').select('refund_outbox.id');
  return (await unsent.where('refund_outbox.state', RefundState.pending).whereNotNull('captured_nano_usd').limit(1)).length > 0;
}

/** Counts the refunds that the ledger refused permanently. */
export async function countRefused(db: Database): Promise<bigint> {
  const rows: { refunds: unknown }[] = await db.knex('refund_outbox').where({ state: RefundState.refused }).count({ refunds: '*' });
  return asBigInt(rows[0]!.refunds);
}
