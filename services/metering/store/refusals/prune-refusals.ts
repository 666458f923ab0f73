// Deletes refused calls: those that are too old, and the oldest of accounts that have too many.
import type { Database } from '#kit/db/open.js';
import { keyedText } from '#kit/db/plain/sql-text.js';
import { asBytes, asNumber } from '#kit/db/values.js';

/** Rows per transaction, so that calls get their turn in between. */
const rowsMax = 1000;
const rowsPerStatement = 100;

/** Deletes the counts, examples and batch ids from before these instants. Stops between two transactions when the signal aborts. */
export async function pruneRefusals(
  db: Database,
  before: { readonly refusalsMs: number; readonly batchesMs: number },
  signal: AbortSignal,
): Promise<void> {
  const key = ['account_id', 'quarter_ms', 'project_id', 'key_id', 'model_id', 'reason'];
  await deleteAll(db, 'refusal_count', key, 'quarter_ms < ?', [before.refusalsMs], signal);
  await deleteAll(db, 'refused_key', ['account_id', 'key_id', 'reason'], 'last_at_ms < ?', [before.refusalsMs], signal);
  await deleteAll(db, 'refusal', ['id'], 'refused_at_ms < ?', [before.refusalsMs], signal);
  await deleteAll(db, 'refusal_batch', ['id'], 'stored_at_ms < ?', [before.batchesMs], signal);
}

/** Deletes the oldest examples of accounts that have more than `max`. */
export async function pruneExamples(db: Database, max: number, signal: AbortSignal): Promise<void> {
  const full = await db.query('SELECT account_id FROM refusal GROUP BY account_id HAVING COUNT(*) > ?', [max]);
  for (const { account_id: account } of full) {
    const accountId = asBytes(account);
    const [row] = await db.query(
      'SELECT refused_at_ms FROM refusal WHERE account_id = ? ORDER BY refused_at_ms DESC, id DESC LIMIT 1 OFFSET ?',
      [accountId, max],
    );
    if (row !== undefined)
      await deleteAll(db, 'refusal', ['id'], 'account_id = ? AND refused_at_ms <= ?', [accountId, asNumber(row['refused_at_ms'])], signal);
  }
}

/**
 * Deletes the rows that match, found first and deleted by their key: neither engine deletes a limited number of rows in the same way. A row that has
 * changed since it was found, such as that of a key that is refused again, stays unless it still matches.
 */
async function deleteAll(
  db: Database,
  table: string,
  key: readonly string[],
  condition: string,
  values: readonly unknown[],
  signal: AbortSignal,
): Promise<void> {
  const select = `SELECT ${key.join(', ')} FROM ${table} WHERE ${condition} LIMIT ${rowsMax}`;
  const keyed = keyedText(key);
  const perStatement = db.engine === 'sqlite' ? 1 : rowsPerStatement;
  for (;;) {
    if (signal.aborted) return;
    const rows = await db.query(select, values);
    if (rows.length === 0) return;
    await db.plainTransaction(
      async (tx) => {
        for (let start = 0; start < rows.length; start += perStatement) {
          const part = rows.slice(start, start + perStatement);
          await tx.run(`DELETE FROM ${table} WHERE ${keyed(part.length)} AND ${condition}`, [
            ...part.flatMap((row) => key.map((column) => row[column])),
            ...values,
          ]);
        }
      },
      { isRepeatable: true, mayBeLost: true },
    );
    if (rows.length < rowsMax) return;
  }
}
