// The parts of stored responses. Each is a row of idempotency_key in the state `kept`, with its content as the response that is stored under it.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { asBytes } from '#kit/db/values.js';
import { ResponseStorage, type StoredPart } from '#proto/metering/v1/metering.js';
import type { AnswerQuota } from '../../keyed-calls/answer-quota.js';
import type { PricedRecord } from '../../records/usage-record.js';
import { columns, deleteKey, insertKeptKeys, type KeyRow, keyFromRow, KeyState } from './keyed-calls.js';
import { bytesOf } from '../records/record-rows.js';
import { rowBytes } from './stored-answers.js';

/** The share of the limits beyond which no responses are stored, so that they leave room for calls with keys, which are refused without it. */
const responsesShare = 0.5;

const names = keyedText(['key_hash']);
/** Maximum size of the contents that are read at once. */
const readBytesMax = 16 * 1024 * 1024;

// Of one account, since an engine limits how many conditions a statement may combine.
const named = textOfRows((rows) => `account_id = ? AND ${names(rows)}`);
const selectRows = textOfRows((rows) => `SELECT ${columns} FROM idempotency_key WHERE ${named(rows)} AND state = ${KeyState.kept}`);
const selectContents = textOfRows((rows) => `SELECT key_hash, answer FROM stored_answer WHERE ${named(rows)}`);
const extend = textOfRows((rows) => `UPDATE idempotency_key SET expires_at_ms = ? WHERE ${named(rows)} AND state = ${KeyState.kept}`);

/** Stores the responses of calls that are being recorded, in the same transaction, and returns what became of each, in the order of the records. */
export async function storeResponses(
  tx: PlainTransaction,
  records: readonly PricedRecord[],
  quota: AnswerQuota,
  nowMs: number,
): Promise<ResponseStorage[]> {
  if (records.every(({ storedResponse }) => storedResponse === undefined)) return [];
  const storages: ResponseStorage[] = [];
  for (const [index, { record, free, storedResponse }] of records.entries()) {
    if (storedResponse === undefined) continue;
    storages[index] = ResponseStorage.RESPONSE_STORAGE_GONE;
    if (free) continue;
    const accountId = bytesOf('acct', record.call.accountId);
    const { parts, keptMs } = storedResponse;
    const bytes = parts.reduce((sum, { content }) => sum + rowBytes + content.length, 0);
    if ((await quota.exceeded(tx, accountId, bytes, responsesShare)) !== undefined) {
      storages[index] = ResponseStorage.RESPONSE_STORAGE_NO_ROOM;
      continue;
    }
    await deleteRows(
      tx,
      accountId,
      parts.map(({ nameHash }) => nameHash),
    );
    const row = { accountId, callId: bytesOf('req', record.call.id), state: KeyState.kept, leaseUntilMs: 0, keptMs, awaitedUntilMs: 0 };
    await insertKeptKeys(
      tx,
      accountId,
      parts.map(({ nameHash, content }) => ({
        key: { ...row, keyHash: nameHash, fingerprint: nameHash, expiresAtMs: nowMs + keptMs, keptBytes: rowBytes + content.length },
        answer: content,
      })),
    );
    storages[index] = ResponseStorage.RESPONSE_STORAGE_STORED;
  }
  return storages;
}

/** Returns the parts with these names that have not expired, and the names that were left out to bound the size. */
export async function findParts(
  db: Database,
  accountId: Buffer,
  nameHashes: readonly Buffer[],
  { nowMs, keptMs }: { readonly nowMs: number; readonly keptMs: number },
): Promise<{ parts: StoredPart[]; remaining: Buffer[] }> {
  const found = await db.query(selectRows(nameHashes.length), [accountId, ...nameHashes]);
  const rows = found.map(keyFromRow).filter(({ expiresAtMs }) => expiresAtMs > nowMs);
  let bytes = 0;
  const read: KeyRow[] = [];
  for (const row of rows) {
    bytes += row.keptBytes;
    if (read.length > 0 && bytes > readBytesMax) break;
    read.push(row);
  }
  const remaining = rows.slice(read.length).map(({ keyHash }) => keyHash);
  if (read.length === 0) return { parts: [], remaining };
  const contents = await db.query(selectContents(read.length), [accountId, ...read.map(({ keyHash }) => keyHash)]);
  const due = read.filter(({ expiresAtMs }) => expiresAtMs < nowMs + keptMs - keptMs / 24);
  // Seldom, so that the turns of a conversation cost no writes.
  if (due.length > 0) {
    const values = [nowMs + keptMs, accountId, ...due.map(({ keyHash }) => keyHash)];
    await db.plainTransaction((tx) => tx.run(extend(due.length), values), { mayBeLost: true });
  }
  return { parts: contents.map((row) => ({ nameHash: asBytes(row['key_hash']), content: asBytes(row['answer']) })), remaining };
}

/** Deletes the parts with these names. */
export async function deleteParts(db: Database, accountId: Buffer, nameHashes: readonly Buffer[]): Promise<void> {
  await db.plainTransaction((tx) => deleteRows(tx, accountId, nameHashes));
}

async function deleteRows(tx: PlainTransaction, accountId: Buffer, nameHashes: readonly Buffer[]): Promise<void> {
  const lock = tx.engine === 'mysql' ? ' ORDER BY account_id, key_hash FOR UPDATE' : '';
  const rows = await tx.query(`${selectRows(nameHashes.length)}${lock}`, [accountId, ...nameHashes]);
  for (const row of rows) await deleteKey(tx, keyFromRow(row));
}
