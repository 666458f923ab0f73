// Calls in flight, as of their last checkpoint.
import { strict as assert } from 'node:assert';
import type { Database, Engine } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { keyedText, textOfRows, upsertText } from '#kit/db/plain/sql-text.js';
import { asBytes, asNumber } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { CheckpointUsageRequest_Item } from '#proto/metering/v1/metering.js';
import type { PricedCall } from '../../requests/validate-call.js';
import { renewKeys } from '../keyed-calls/keyed-calls.js';
import { bytesOf } from './record-rows.js';
import { recordedIds } from './records.js';

const rowsPerStatement = 200;

const putRowsOn = (engine: Engine) =>
  upsertText(
    engine,
    'open_call',
    ['id', 'account_id', 'draft', 'last_seen_at_ms', 'retry_key_hash'],
    ['id'],
    ['draft', 'last_seen_at_ms', 'retry_key_hash'],
  );
const putRows = { sqlite: putRowsOn('sqlite'), mysql: putRowsOn('mysql') };
const keyed = keyedText(['id']);
const deleteRows = textOfRows((rows) => `DELETE FROM open_call WHERE ${keyed(rows)}`);

const selectUnseen = 'SELECT draft, last_seen_at_ms FROM open_call WHERE last_seen_at_ms < ? ORDER BY last_seen_at_ms LIMIT ?';
const selectRetried =
  'SELECT id, last_seen_at_ms FROM open_call WHERE account_id = ? AND retry_key_hash = ? ORDER BY last_seen_at_ms LIMIT 1';

/** Holds a call in flight. */
export interface OpenCall {
  readonly call: PricedCall;
  /** As last checkpointed; they satisfy the rules of `validateUsage`. */
  readonly tokens: TokenCounts;
  readonly lastSeenAtMs: number;
  /** The hash with which a retry looks for the call, unless none may join it; not read back. */
  readonly retryKeyHash?: Buffer | undefined;
}

/** What a retry learns of a call in flight. */
export interface RetriedCall {
  readonly callId: string;
  readonly lastSeenAtMs: number;
}

/**
 * Records that these calls are in flight and what they have used. Returns the ids of those that are not stored, because they are already on record or
 * another call has their idempotency key. `keyLeaseUntilMs` is the new lease of the others' keys. The rows are written before the records are looked up:
 * a record that is being stored meanwhile is either seen here, or waits for these rows and removes them, unless its call was reported as never
 * checkpointed. In that case the lease sweeper removes the row.
 */
export async function putOpenCalls(db: Database, calls: readonly OpenCall[], keyLeaseUntilMs: number): Promise<Set<string>> {
  // In key order, so that the batches of two gateways cannot deadlock.
  const inOrder = calls.toSorted((a, b) => (a.call.id < b.call.id ? -1 : 1));
  return db.plainTransaction(async (tx) => {
    const closed = await renewKeys(
      tx,
      inOrder.map(({ call }) => call),
      keyLeaseUntilMs,
    );
    const sorted = inOrder.filter(({ call }) => !closed.has(call.id));
    for (let first = 0; first < sorted.length; first += rowsPerStatement) {
      const part = sorted.slice(first, first + rowsPerStatement);
      const values = part.flatMap(({ call, tokens, lastSeenAtMs, retryKeyHash }) => [
        bytesOf('req', call.id),
        bytesOf('acct', call.accountId),
        Buffer.from(CheckpointUsageRequest_Item.encode({ call, tokens }).finish()),
        lastSeenAtMs,
        retryKeyHash ?? null,
      ]);
      await tx.run(putRows[tx.engine](part.length), values);
      const recorded = await recordedIds(
        tx,
        part.map(({ call }) => bytesOf('req', call.id)),
      );
      if (recorded.size === 0) continue;
      const left = [...recorded].map((hex) => Buffer.from(hex, 'hex'));
      await tx.run(deleteRows(left.length), left);
      for (const id of left) closed.add(idFromBytes('req', id));
    }
    return closed;
  });
}

/** Deletes the checkpoints of these calls. */
export async function deleteOpenCalls(db: Database, callIds: readonly string[]): Promise<void> {
  for (let first = 0; first < callIds.length; first += rowsPerStatement) {
    const ids = callIds.slice(first, first + rowsPerStatement).map((id) => bytesOf('req', id));
    await db.plainTransaction((tx) => tx.run(deleteRows(ids.length), ids));
  }
}

/** Reports whether this call is in flight. */
export async function isOpen(tx: PlainTransaction, callId: string): Promise<boolean> {
  return (await tx.query('SELECT id FROM open_call WHERE id = ?', [bytesOf('req', callId)])).length > 0;
}

/** Returns the call in flight with this hash and the oldest checkpoint, or undefined. */
export async function findRetriedCall(tx: PlainTransaction, accountId: Buffer, retryKeyHash: Buffer): Promise<RetriedCall | undefined> {
  const [row] = await tx.query(selectRetried, [accountId, retryKeyHash]);
  return row === undefined ? undefined : { callId: idFromBytes('req', asBytes(row['id'])), lastSeenAtMs: asNumber(row['last_seen_at_ms']) };
}

/** Returns calls in flight that were last seen before this instant, longest ago first. */
export async function findUnseenCalls(db: Database, beforeMs: number, limit: number): Promise<OpenCall[]> {
  const rows = await db.query(selectUnseen, [beforeMs, limit]);
  return rows.map((row) => ({ ...decodeDraft(asBytes(row['draft'])), lastSeenAtMs: asNumber(row['last_seen_at_ms']) }));
}

function decodeDraft(bytes: Buffer): Pick<OpenCall, 'call' | 'tokens'> {
  const { call, tokens } = CheckpointUsageRequest_Item.decode(bytes);
  assert(call !== undefined && call.price !== undefined && tokens !== undefined, 'a draft is stored whole');
  return { call: { ...call, price: call.price }, tokens };
}
