// The prompts and answers of calls whose projects log them: what became of each, and the encrypted bodies. Every transaction that changes bodies
// locks the row of their account first.
import { dayMs } from '#kit/clock.js';
import type { Database, Engine } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { insertText, keyedText } from '#kit/db/plain/sql-text.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { Outcome, PromptLogState as State, type UsageRecord } from '#proto/metering/v1/metering.js';
import type { PricedRecord } from '../records/usage-record.js';
import { bytesOf } from './records/record-rows.js';
import { recordedIds } from './records/records.js';

/** A gateway sends a body within seconds of the record, or never. */
const lostAfterMs = 600_000;
/** How many bytes each body counts in addition to its own. */
const rowBytes = 512;
/** Rows per transaction, so that calls get their turn in between. */
const rowsPerStepMax = 100;

const columns = ['call_id', 'account_id', 'project_id', 'state', 'started_at_ms', 'expires_at_ms'];
const ignoring: Record<Engine, string> = { sqlite: 'INSERT OR IGNORE', mysql: 'INSERT IGNORE' };
const insertRows = insertText('prompt_log', columns);
const insertNew = (engine: Engine, rows = 1): string => insertRows(rows).replace('INSERT', ignoring[engine]);
const insertAccount = 'INTO prompt_log_account (account_id, sealed_key, kept_bytes) VALUES (?, ?, 0)';
const byCall = keyedText(['call_id']);
const awaited = `state IN (${State.PROMPT_LOG_STATE_PENDING}, ${State.PROMPT_LOG_STATE_LOST})`;
const takeAwaited = `UPDATE prompt_log SET state = ? WHERE call_id = ? AND account_id = ? AND ${awaited}`;

/** Notes, with the records of calls, that their bodies are expected. */
export async function expectPromptLogs(tx: PlainTransaction, records: readonly PricedRecord[]): Promise<void> {
  const expected = records.filter(({ record }) => record.call.promptLogDays > 0);
  if (expected.length === 0) return;
  const rows = expected.map(({ record: { call, outcome } }) => {
    const startedAtMs = Number(call.startedAtMs);
    return [
      bytesOf('req', call.id),
      bytesOf('acct', call.accountId),
      bytesOf('proj', call.projectId),
      outcome === Outcome.OUTCOME_GATEWAY_LOST ? State.PROMPT_LOG_STATE_LOST : State.PROMPT_LOG_STATE_PENDING,
      startedAtMs,
      startedAtMs + call.promptLogDays * dayMs,
    ];
  });
  await tx.run(insertNew(tx.engine, rows.length), rows.flat());
}

/** Returns what became of the prompt and the answer of a recorded call. */
export async function promptLogStateOf(db: Database, { call, recordedAtMs }: UsageRecord, nowMs: number): Promise<State> {
  const found = await findPromptLog(db, bytesOf('req', call!.id));
  if (found === undefined || found.expiresAtMs <= nowMs) return State.PROMPT_LOG_STATE_UNSPECIFIED;
  const isLate = found.state === State.PROMPT_LOG_STATE_PENDING && nowMs - Number(recordedAtMs) > lostAfterMs;
  return isLate ? State.PROMPT_LOG_STATE_LOST : found.state;
}

/** A log without its body. */
export interface FoundLog {
  readonly accountId: string;
  readonly projectId: string;
  readonly state: State;
  readonly expiresAtMs: number;
}

/** Returns the log of a call, even if it has expired and is not deleted yet. */
export async function findPromptLog(db: Database, callId: Buffer): Promise<FoundLog | undefined> {
  const [row] = await db.query('SELECT account_id, project_id, state, expires_at_ms FROM prompt_log WHERE call_id = ?', [callId]);
  return row === undefined
    ? undefined
    : {
        accountId: idFromBytes('acct', asBytes(row['account_id'])),
        projectId: idFromBytes('proj', asBytes(row['project_id'])),
        state: asNumber(row['state']),
        expiresAtMs: asNumber(row['expires_at_ms']),
      };
}

/** Returns the encrypted body of a call. */
export async function findBody(db: Database, accountId: Buffer, callId: Buffer): Promise<Buffer | undefined> {
  const [row] = await db.query('SELECT sealed FROM prompt_log_body WHERE account_id = ? AND call_id = ?', [accountId, callId]);
  return row === undefined ? undefined : asBytes(row['sealed']);
}

/** Returns the encrypted key of an account, after storing a new one if it has none. */
export async function keyOfAccount(
  db: Pick<Database, 'query' | 'plainTransaction'>,
  accountId: Buffer,
  newKey: () => string,
): Promise<string> {
  for (;;) {
    const [known] = await db.query('SELECT sealed_key FROM prompt_log_account WHERE account_id = ?', [accountId]);
    if (known !== undefined) return asText(known['sealed_key']);
    // Another process may remove the new key immediately, because the account has no logs yet.
    await db.plainTransaction((tx) => tx.run(`${ignoring[tx.engine]} ${insertAccount}`, [accountId, newKey()]), { isRepeatable: true });
  }
}

/** Returns how many bytes are kept for all accounts. */
export async function keptBytesOfAll(db: Database): Promise<number> {
  const [row] = await db.query('SELECT COALESCE(SUM(kept_bytes), 0) AS bytes FROM prompt_log_account', []);
  return asNumber(row!['bytes']);
}

/** A log to store. */
export interface NewLog {
  readonly callId: Buffer;
  readonly projectId: Buffer;
  readonly startedAtMs: number;
  readonly expiresAtMs: number;
  readonly state: State;
  /** Absent if the body is not kept. */
  readonly sealed: Buffer | undefined;
}

/**
 * Stores logs of an account, except those that are stored already or were deleted, and removes its oldest bodies beyond `bytesMax`. Returns false, and stores nothing,
 * when the key of the account is no longer the one with which they were encrypted.
 */
export async function putPromptLogs(
  db: Database,
  accountId: Buffer,
  logs: readonly NewLog[],
  { isKey, bytesMax }: { isKey(sealedKey: string): boolean; bytesMax: number },
): Promise<boolean> {
  return db.plainTransaction(
    async (tx) => {
      const account = await lockAccount(tx, accountId);
      if (account === undefined || !isKey(account.sealedKey)) return false;
      let { keptBytes } = account;
      for (const { callId, projectId, state, startedAtMs, expiresAtMs, sealed } of logs) {
        const take = async () => (await tx.run(takeAwaited, [state, callId, accountId])) > 0;
        const add = async () => (await tx.run(insertNew(tx.engine), [callId, accountId, projectId, state, startedAtMs, expiresAtMs])) > 0;
        // A call on record has a row, unless its log was deleted.
        const isRecorded = async () => (await recordedIds(tx, [callId])).size > 0;
        // The record may add the row in between; it is there when the insert has waited for it.
        if (!(await take()) && ((await isRecorded()) || !(await add())) && !(await take())) continue;
        if (sealed === undefined) continue;
        const bytes = rowBytes + sealed.length;
        await tx.run('INSERT INTO prompt_log_body (account_id, call_id, kept_bytes, sealed) VALUES (?, ?, ?, ?)', [
          accountId,
          callId,
          bytes,
          sealed,
        ]);
        keptBytes += bytes;
      }
      while (keptBytes > bytesMax) keptBytes -= await replaceOldest(tx, accountId, keptBytes - bytesMax);
      await tx.run('UPDATE prompt_log_account SET kept_bytes = ? WHERE account_id = ?', [keptBytes, accountId]);
      return true;
    },
    // A power failure may undo the transaction: the log is then shown as lost.
    { isRepeatable: true, mayBeLost: true },
  );
}

/** Deletes logs of an account with their bodies, and runs `also` in the same transaction. */
export async function deletePromptLogs(
  db: Database,
  accountId: Buffer,
  callIds: readonly Buffer[],
  also?: (tx: PlainTransaction) => Promise<void>,
): Promise<void> {
  await db.plainTransaction(
    async (tx) => {
      await lockAccount(tx, accountId);
      const ofThese = [accountId, ...callIds];
      const named = `account_id = ? AND ${byCall(callIds.length)}`;
      const [row] = await tx.query(`SELECT COALESCE(SUM(kept_bytes), 0) AS bytes FROM prompt_log_body WHERE ${named}`, ofThese);
      await tx.run(`DELETE FROM prompt_log_body WHERE ${named}`, ofThese);
      await tx.run(`DELETE FROM prompt_log WHERE ${named}`, ofThese);
      const bytes = asNumber(row!['bytes']);
      await tx.run('UPDATE prompt_log_account SET kept_bytes = kept_bytes - ? WHERE account_id = ?', [bytes, accountId]);
      await also?.(tx);
    },
    { mayBeLost: also === undefined },
  );
}

/** Returns some logs that have expired. */
export async function expiredLogs(db: Database, nowMs: number): Promise<{ accountId: Buffer; callId: Buffer }[]> {
  const rows = await db.query(`SELECT account_id, call_id FROM prompt_log WHERE expires_at_ms <= ? LIMIT ${rowsPerStepMax}`, [nowMs]);
  return rows.map((row) => ({ accountId: asBytes(row['account_id']), callId: asBytes(row['call_id']) }));
}

/** Returns the ids of some calls of a project that started before this instant and have logs. */
export async function logsBefore(db: Database, { accountId, projectId }: LoggingProject, beforeMs: number): Promise<Buffer[]> {
  const text = `SELECT call_id FROM prompt_log WHERE account_id = ? AND project_id = ? AND started_at_ms < ? LIMIT ${rowsPerStepMax}`;
  return (await db.query(text, [accountId, projectId, beforeMs])).map((row) => asBytes(row['call_id']));
}

/** A project with logs. */
export interface LoggingProject {
  readonly accountId: Buffer;
  readonly projectId: Buffer;
}

/** Returns the projects with logs, by steps through an index: neither engine finds the distinct values of a long table quickly by itself. */
export async function* loggingProjects(db: Database): AsyncGenerator<LoggingProject> {
  const text = 'SELECT project_id FROM prompt_log WHERE account_id = ? AND project_id > ? ORDER BY project_id LIMIT 1';
  for (const row of await db.query('SELECT account_id FROM prompt_log_account', [])) {
    const accountId = asBytes(row['account_id']);
    for (let last: Buffer = Buffer.alloc(0); ;) {
      const [next] = await db.query(text, [accountId, last]);
      if (next === undefined) break;
      last = asBytes(next['project_id']);
      yield { accountId, projectId: last };
    }
  }
}

/** Deletes the keys of accounts without logs: what is left of their bodies in free pages or old files of the database cannot be decrypted any more. */
export async function deleteUnusedKeys(db: Database): Promise<void> {
  const isUnused = 'NOT EXISTS (SELECT 1 FROM prompt_log WHERE prompt_log.account_id = prompt_log_account.account_id)';
  const rows = await db.query(`SELECT account_id FROM prompt_log_account WHERE ${isUnused} LIMIT ${rowsPerStepMax}`, []);
  for (const row of rows) {
    await db.plainTransaction(async (tx) => {
      const accountId = asBytes(row['account_id']);
      await lockAccount(tx, accountId);
      await tx.run(`DELETE FROM prompt_log_account WHERE account_id = ? AND ${isUnused}`, [accountId]);
    });
  }
}

async function lockAccount(tx: PlainTransaction, accountId: Buffer): Promise<{ sealedKey: string; keptBytes: number } | undefined> {
  const text = `SELECT sealed_key, kept_bytes FROM prompt_log_account WHERE account_id = ?${tx.engine === 'mysql' ? ' FOR UPDATE' : ''}`;
  const [row] = await tx.query(text, [accountId]);
  return row === undefined ? undefined : { sealedKey: asText(row['sealed_key']), keptBytes: asNumber(row['kept_bytes']) };
}

/** Removes the oldest bodies of an account, at most `rowsPerStepMax`, until this many bytes are freed; returns how many bytes were freed. */
async function replaceOldest(tx: PlainTransaction, accountId: Buffer, bytes: number): Promise<number> {
  const text = `SELECT call_id, kept_bytes FROM prompt_log_body WHERE account_id = ? ORDER BY call_id LIMIT ${rowsPerStepMax}`;
  const ids: Buffer[] = [];
  let freed = 0;
  for (const row of await tx.query(text, [accountId])) {
    if (freed >= bytes) break;
    ids.push(asBytes(row['call_id']));
    freed += asNumber(row['kept_bytes']);
  }
  // No bodies are left, so the account's sum is too high; it is corrected by counting the rest as freed.
  if (ids.length === 0) return bytes;
  await tx.run(`DELETE FROM prompt_log_body WHERE account_id = ? AND ${byCall(ids.length)}`, [accountId, ...ids]);
  await tx.run(`UPDATE prompt_log SET state = ? WHERE ${byCall(ids.length)}`, [State.PROMPT_LOG_STATE_REPLACED, ...ids]);
  return freed;
}
