// Inserts of several rows in one statement.
import type { Knex } from 'knex';

/**
 * Inserts the rows, each with one value for each column. The text is made here because knex's builder spends longer on a wide
 * row than the database does, and this is the hot path of every call.
 */
export async function insertMany(tx: Knex, table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<void> {
  const row = `(${columns.map(() => '?').join(', ')})`;
  const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${rows.map(() => row).join(', ')}`;
  await tx.raw(text, rows.flat() as Knex.RawBinding[]);
}
