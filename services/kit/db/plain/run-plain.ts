// Runs plain transactions and queries on connections from knex's pool.
import { MysqlTransaction, type MysqlConnection } from '../mysql/transaction.js';
import type { PlainTransaction } from './plain-transaction.js';
import { SqliteTransaction, type SqliteConnection } from '../sqlite/transaction.js';

/** The part of a knex client that is used here: its pool. */
export interface ConnectionPool {
  acquireConnection(): Promise<unknown>;
  releaseConnection(connection: unknown): Promise<unknown>;
}

/** The pool of a SQLite file. */
export interface SqlitePool extends ConnectionPool {
  /** Returns the connection if it is not in use. It must not be used beyond the present call. */
  freeConnection(): SqliteConnection | undefined;
}

/** Runs `work` in one transaction on a connection without autocommit: commits, or rolls back and rethrows. */
export async function runOnMysql<T>(pool: ConnectionPool, work: (tx: PlainTransaction) => Promise<T>): Promise<T> {
  const connection = await pool.acquireConnection();
  try {
    return await commit(new MysqlTransaction(connection as MysqlConnection), work);
  } finally {
    await pool.releaseConnection(connection);
  }
}

/** Runs `work` in one transaction on SQLite, without a sync: a power failure may undo the commit. See `TransactionOptions.mayBeLost`. */
export async function runUnsynced<T>(pool: ConnectionPool, work: (tx: PlainTransaction) => Promise<T>): Promise<T> {
  const connection = (await pool.acquireConnection()) as SqliteConnection;
  try {
    return await commit(new SqliteTransaction(connection), work);
  } finally {
    await pool.releaseConnection(connection);
  }
}

/** Runs a SELECT on a connection with autocommit. */
export async function readOnMysql<T>(pool: ConnectionPool, read: (tx: PlainTransaction) => Promise<T>): Promise<T> {
  const connection = await pool.acquireConnection();
  try {
    return await read(new MysqlTransaction(connection as MysqlConnection));
  } finally {
    await pool.releaseConnection(connection);
  }
}

/**
 * Runs a SELECT outside of a transaction. If the connection is free, it is not taken, because the statement has finished when `read` returns: polls
 * that begin at the same moment do not wait for each other.
 */
export async function readOnSqlite<T>(pool: SqlitePool, read: (tx: PlainTransaction) => Promise<T>): Promise<T> {
  const free = pool.freeConnection();
  if (free !== undefined) return read(new SqliteTransaction(free));
  const connection = (await pool.acquireConnection()) as SqliteConnection;
  try {
    return await read(new SqliteTransaction(connection));
  } finally {
    await pool.releaseConnection(connection);
  }
}

async function commit<T>(tx: SqliteTransaction | MysqlTransaction, work: (tx: PlainTransaction) => Promise<T>): Promise<T> {
  try {
    if (tx.engine === 'sqlite') await tx.begin();
    const result = await work(tx);
    await tx.run('COMMIT', []);
    tx.end(true);
    return result;
  } catch (error) {
    await tx.abandon();
    tx.end(false);
    throw error;
  }
}
