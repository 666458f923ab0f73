// Calls under idempotency keys: which call has a key, and what is stored for it. The key's row protects against double charges: a call that it
// does not name can be neither checkpointed nor recorded. It is therefore locked before any other row of a transaction.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { asBytes, asNumber } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { Outcome } from '#proto/metering/v1/metering.js';
import type { PricedRecord } from '../../records/usage-record.js';
import type { PricedCall } from '../../requests/validate-call.js';
import { addKept, deleteAnswer, putAnswer, rowBytes } from './stored-answers.js';
import { bytesOf } from '../records/record-rows.js';

/** The state of a key: its call runs, its response is stored, or its call is on record without a response, for the reason named. */
export const KeyState = { running: 0, kept: 1, tooLarge: 2, gatewayLost: 3 } as const;

/** One of these states. */
export type KeyState = (typeof KeyState)[keyof typeof KeyState];

/** The lease of a lost call that left its key free: a repeat may take the key, but until then the call's own report may still arrive. */
export const leaseOfLost = 0;

/** Holds a key and the call that has it. */
export interface KeyRow {
  readonly accountId: Buffer;
  readonly keyHash: Buffer;
  readonly fingerprint: Buffer;
  readonly callId: Buffer;
  readonly state: KeyState;
  readonly leaseUntilMs: number;
  readonly expiresAtMs: number;
  readonly keptBytes: number;
  /** How long the response is kept after the call; 0 if it was delivered before its record arrived. */
  readonly keptMs: number;
  /** Until when a retry counts as waiting for an offered call. */
  readonly awaitedUntilMs: number;
}

/** The columns of a key, for `keyFromRow`. */
export const columns =
  'account_id, key_hash, fingerprint, call_id, state, lease_until_ms, expires_at_ms, kept_bytes, kept_ms, awaited_until_ms';
const byKey = 'account_id = ? AND key_hash = ?';
const byCall = `${byKey} AND call_id = ?`;
const keysPerStatementMax = 200;

const keys = keyedText(['account_id', 'key_hash']);
const calls = keyedText(['account_id', 'key_hash', 'call_id']);
const selectNamed = textOfRows((rows) => `SELECT call_id FROM idempotency_key WHERE ${calls(rows)}`);
const isHeld = `state = ${KeyState.running} AND lease_until_ms <> ${leaseOfLost}`;
const selectRunning = textOfRows((rows) => `SELECT call_id FROM idempotency_key WHERE ${calls(rows)} AND ${isHeld}`);
const selectLocked = textOfRows((rows) => `SELECT call_id FROM idempotency_key WHERE ${keys(rows)} FOR UPDATE`);
const renew = textOfRows((rows) => `UPDATE idempotency_key SET lease_until_ms = ? WHERE ${calls(rows)} AND ${isHeld}`);

/** Returns the row of a key, locked if others could write it; undefined when there is none. */
export async function lockKey(tx: PlainTransaction, accountId: Buffer, keyHash: Buffer): Promise<KeyRow | undefined> {
  // A SQLite file has one writer, and no syntax for locking a row.
  const lock = tx.engine === 'mysql' ? ' FOR UPDATE' : '';
  const [row] = await tx.query(`SELECT ${columns} FROM idempotency_key WHERE ${byKey}${lock}`, [accountId, keyHash]);
  return row === undefined ? undefined : keyFromRow(row);
}

/** Converts a driver's row to a key. */
export function keyFromRow(row: Readonly<Record<string, unknown>>): KeyRow {
  return {
    accountId: asBytes(row['account_id']),
    keyHash: asBytes(row['key_hash']),
    fingerprint: asBytes(row['fingerprint']),
    callId: asBytes(row['call_id']),
    state: asNumber(row['state']) as KeyState,
    leaseUntilMs: asNumber(row['lease_until_ms']),
    expiresAtMs: asNumber(row['expires_at_ms']),
    keptBytes: asNumber(row['kept_bytes']),
    keptMs: asNumber(row['kept_ms']),
    awaitedUntilMs: asNumber(row['awaited_until_ms']),
  };
}

/** Reserves a free key. Raises the driver's duplicate error when another replica was faster. */
export async function insertKey(tx: PlainTransaction, key: KeyRow): Promise<void> {
  const { accountId, keyHash, fingerprint, callId, state, leaseUntilMs, expiresAtMs, keptBytes, keptMs, awaitedUntilMs } = key;
  const values = [accountId, keyHash, fingerprint, callId, state, leaseUntilMs, expiresAtMs, keptBytes, keptMs, awaitedUntilMs];
  await tx.run(`INSERT INTO idempotency_key (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, values);
}

/** Inserts keys of one account with the responses of their calls. */
export async function insertKeptKeys(
  tx: PlainTransaction,
  accountId: Buffer,
  kept: readonly { readonly key: KeyRow; readonly answer: Buffer }[],
): Promise<void> {
  for (const { key, answer } of kept) {
    await insertKey(tx, key);
    await putAnswer(tx, accountId, key.keyHash, answer);
  }
  const bytes = kept.reduce((sum, { key }) => sum + key.keptBytes, 0);
  await addKept(tx, accountId, kept.length, bytes);
}

/** Returns the row of a key without locking it. */
export async function findKey(tx: PlainTransaction, accountId: Buffer, keyHash: Buffer): Promise<KeyRow | undefined> {
  const [row] = await tx.query(`SELECT ${columns} FROM idempotency_key WHERE ${byKey}`, [accountId, keyHash]);
  return row === undefined ? undefined : keyFromRow(row);
}

/** Notes that a retry waits for the running call that has the key. */
export async function awaitKey(tx: PlainTransaction, { accountId, keyHash, callId }: KeyRow, untilMs: number): Promise<void> {
  await tx.run(`UPDATE idempotency_key SET awaited_until_ms = ? WHERE ${byCall}`, [untilMs, accountId, keyHash, callId]);
}

/** Deletes a key, with everything stored under it. Its row is locked. */
export async function deleteKey(tx: PlainTransaction, key: KeyRow): Promise<void> {
  await tx.run(`DELETE FROM idempotency_key WHERE ${byKey}`, [key.accountId, key.keyHash]);
  await forgetAnswer(tx, key);
}

async function forgetAnswer(tx: PlainTransaction, key: KeyRow): Promise<void> {
  if (key.state === KeyState.running) return;
  await deleteAnswer(tx, key.accountId, key.keyHash);
  await addKept(tx, key.accountId, -1, -key.keptBytes);
}

/** Deletes a key that is reserved for this call, unless the call has ended. */
export async function abandonKey(db: Database, accountId: Buffer, keyHash: Buffer, callId: Buffer): Promise<void> {
  const text = `DELETE FROM idempotency_key WHERE ${byCall} AND state = ${KeyState.running}`;
  await db.plainTransaction((tx) => tx.run(text, [accountId, keyHash, callId]));
}

/** Deletes the key of a call that has ended, with its response. If the call is not on record yet, the key is deleted with its record. */
export async function forgetKey(db: Database, accountId: Buffer, keyHash: Buffer, callId: Buffer): Promise<void> {
  await db.plainTransaction(async (tx) => {
    const key = await lockKey(tx, accountId, keyHash);
    if (key?.callId.equals(callId) !== true) return;
    if (key.state !== KeyState.running) return deleteKey(tx, key);
    // The report is on its way, perhaps in a gateway's spool. Without its key it would be rejected, and the call never charged.
    await tx.run(`UPDATE idempotency_key SET kept_ms = 0 WHERE ${byCall}`, [accountId, keyHash, callId]);
  });
}

/** Renews the leases of running calls; returns the ids of those that do not (or no longer) have their keys. They must end. */
export async function renewKeys(tx: PlainTransaction, all: readonly PricedCall[], leaseUntilMs: number): Promise<Set<string>> {
  const keyed = inKeyOrder(all.filter(isKeyed));
  const closed = new Set<string>();
  for (let first = 0; first < keyed.length; first += keysPerStatementMax) {
    const part = keyed.slice(first, first + keysPerStatementMax);
    const values = part.flatMap(keyAndCallOf);
    if ((await tx.run(renew(part.length), [leaseUntilMs, ...values])) === part.length) continue;
    const running = await idsOf(tx, selectRunning(part.length), values);
    for (const call of part) if (!running.has(call.id)) closed.add(call.id);
  }
  return closed;
}

/**
 * Locks the keys of ended calls; returns the ids of those that do not (or no longer) have theirs: other calls may run under them. Calls that
 * started before `promisedSinceMs` have no guarantee any more, so a report that was spooled for long is accepted like any other.
 */
export async function lockKeysOf(tx: PlainTransaction, all: readonly PricedCall[], promisedSinceMs: number): Promise<Set<string>> {
  const keyed = inKeyOrder(all.filter(isKeyed));
  if (keyed.length === 0) return new Set();
  if (tx.engine === 'mysql') await tx.query(selectLocked(keyed.length), keyed.flatMap(keyOf));
  const named = await idsOf(tx, selectNamed(keyed.length), keyed.flatMap(keyAndCallOf));
  return new Set(keyed.filter(({ id, startedAtMs }) => !named.has(id) && Number(startedAtMs) > promisedSinceMs).map(({ id }) => id));
}

/**
 * Updates the key of a call that is being recorded, in the same transaction, after `lockKeysOf`. A record may replace
 * the one of a lost call.
 */
export async function closeKey(tx: PlainTransaction, { record, free, storedAnswer }: PricedRecord, nowMs: number): Promise<void> {
  const { call, tokens, outcome } = record;
  if (!isKeyed(call)) return;
  const [accountId, keyHash, callId] = keyAndCallOf(call);
  const key = await lockKey(tx, accountId, keyHash);
  if (key === undefined || !key.callId.equals(callId)) return;
  const isLost = outcome === Outcome.OUTCOME_GATEWAY_LOST;
  const wasUsed = tokens.outputTokens > 0 || record.chargeNanoUsd > 0n;
  // A call that cost nothing and delivered nothing leaves its key free, so that a repeat is a new attempt.
  if (free && !isLost) return deleteKey(tx, key);
  // The call's gateway may have delivered its answer and may still report it, unless a repeat has taken the key by then.
  if (isLost && (free || !wasUsed)) {
    await tx.run(`UPDATE idempotency_key SET lease_until_ms = ${leaseOfLost} WHERE ${byKey}`, [accountId, keyHash]);
    return;
  }
  if (key.keptMs === 0) return deleteKey(tx, key);
  await forgetAnswer(tx, key);
  const state = isLost ? KeyState.gatewayLost : storedAnswer.length === 0 ? KeyState.tooLarge : KeyState.kept;
  const keptBytes = rowBytes + storedAnswer.length;
  await tx.run(`UPDATE idempotency_key SET state = ?, expires_at_ms = ?, kept_bytes = ? WHERE ${byKey}`, [
    state,
    nowMs + key.keptMs,
    keptBytes,
    accountId,
    keyHash,
  ]);
  if (storedAnswer.length > 0) await putAnswer(tx, accountId, keyHash, storedAnswer);
  await addKept(tx, accountId, 1, keptBytes);
}

function isKeyed(call: PricedCall): boolean {
  return call.idempotencyKeyHash.length > 0;
}

function keyOf(call: PricedCall): [accountId: Buffer, keyHash: Buffer] {
  return [bytesOf('acct', call.accountId), call.idempotencyKeyHash];
}

function keyAndCallOf(call: PricedCall): [accountId: Buffer, keyHash: Buffer, callId: Buffer] {
  return [...keyOf(call), bytesOf('req', call.id)];
}

/** Sorts in primary key order, so that two transactions cannot deadlock. */
function inKeyOrder(keyed: readonly PricedCall[]): PricedCall[] {
  return keyed.toSorted((a, b) =>
    a.accountId < b.accountId ? -1 : a.accountId > b.accountId ? 1 : a.idempotencyKeyHash.compare(b.idempotencyKeyHash),
  );
}

async function idsOf(tx: PlainTransaction, sql: string, values: readonly Buffer[]): Promise<Set<string>> {
  return new Set((await tx.query(sql, values)).map((row) => idFromBytes('req', asBytes(row['call_id']))));
}
