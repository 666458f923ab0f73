// The responses that are stored for repeats, and how much space they take: per account and in total.
import type { Database, Engine } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { asBytes, asNumber } from '#kit/db/values.js';

/** What a key without a response counts for, so that keys alone cannot fill the storage either. */
export const rowBytes = 512;

const addTo: Record<Engine, string> = {
  sqlite: `INSERT INTO kept_total (account_id, answers, bytes) VALUES (?, ?, ?)
    ON CONFLICT (account_id) DO UPDATE SET answers = kept_total.answers + excluded.answers, bytes = kept_total.bytes + excluded.bytes`,
  mysql: `INSERT INTO kept_total (account_id, answers, bytes) VALUES (?, ?, ?)
    ON DUPLICATE KEY UPDATE answers = answers + VALUES(answers), bytes = bytes + VALUES(bytes)`,
};

/** Stores a response. One per statement: drivers send bytes as text of twice the length, and servers limit the size of a statement. */
export async function putAnswer(tx: PlainTransaction, accountId: Buffer, keyHash: Buffer, answer: Buffer): Promise<void> {
  await tx.run('INSERT INTO stored_answer (account_id, key_hash, answer) VALUES (?, ?, ?)', [accountId, keyHash, answer]);
}

/** Deletes a response, if there is one. */
export async function deleteAnswer(tx: PlainTransaction, accountId: Buffer, keyHash: Buffer): Promise<void> {
  await tx.run('DELETE FROM stored_answer WHERE account_id = ? AND key_hash = ?', [accountId, keyHash]);
}

/** Returns the response that is stored under a key, or undefined. */
export async function findAnswer(db: Database, accountId: Buffer, keyHash: Buffer): Promise<Buffer | undefined> {
  const row: { answer: unknown } | undefined = await db
    .knex('stored_answer')
    .select('answer')
    .where({ account_id: accountId, key_hash: keyHash })
    .first();
  return row === undefined ? undefined : asBytes(row.answer);
}

/** Adds to the counts of stored responses, or subtracts with negative numbers. */
export async function addKept(tx: PlainTransaction, accountId: Buffer, answers: number, bytes: number): Promise<void> {
  await tx.run(addTo[tx.engine], [accountId, answers, bytes]);
}

/** Returns the bytes stored for an account. */
export async function keptBytesOf(tx: PlainTransaction, accountId: Buffer): Promise<number> {
  const [row] = await tx.query('SELECT bytes FROM kept_total WHERE account_id = ?', [accountId]);
  return row === undefined ? 0 : asNumber(row['bytes']);
}

/** Returns the bytes stored for all accounts. */
export async function keptBytesOfAll(tx: PlainTransaction): Promise<number> {
  const [row] = await tx.query('SELECT COALESCE(SUM(bytes), 0) AS bytes FROM kept_total', []);
  return asNumber(row!['bytes']);
}
