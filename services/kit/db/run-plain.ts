// Runs plain transactions on connections of knex's pool.
import type { Engine } from './engine.js';
import { MysqlTransaction, type MysqlConnection } from './mysql-transaction.js';
import type { PlainTransaction } from './plain-transaction.js';
import { SqliteTransaction, type SqliteConnection } from './sqlite-transaction.js';

/** What is used of a knex client: its pool. */
export interface ConnectionPool {
  acquireConnection(): Promise<unknown>;
  releaseConnection(connection: unknown): Promise<unknown>;
}

/** Runs `work` in one transaction on a connection of the pool: commits, or rolls back and raises what was thrown. */
export async function runPlain<T>(engine: Engine, pool: ConnectionPool, work: (tx: PlainTransaction) => Promise<T>): Promise<T> {
  const connection = await pool.acquireConnection();
  const tx = engine === 'sqlite' ? new SqliteTransaction(connection as SqliteConnection) : new MysqlTransaction(connection as MysqlConnection);
  try {
    await tx.begin();
    const result = await work(tx);
    await tx.run('COMMIT', []);
    return result;
  } catch (error) {
    await tx.abandon();
    throw error;
  } finally {
    await pool.releaseConnection(connection);
  }
}
