// Opens a service's own database from one url, on SQLite or MySQL, so that the two behave alike: exact bigints, strict modes,
// READ COMMITTED, every commit durable unless its caller opts out.
import { mkdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import createKnex, { type Knex } from 'knex';
import { AppError } from '#client/errors/app-error.js';
import type { Engine } from './engine.js';
import { type MysqlOptions, openMysqlPools } from './mysql/knex.js';
import type { Bindings, PlainTransaction, Row } from './plain/plain-transaction.js';
import { LoneConnection } from './sqlite/lone-connection.js';
import { quietKnex } from './quiet-knex.js';
import { retried, type TransactionOptions } from './plain/retries.js';
import { nextTurn } from '../scheduling/turn.js';
import { type ConnectionPool, readOnMysql, readOnSqlite, runOnMysql, runUnsynced, type SqlitePool } from './plain/run-plain.js';
import { SqliteCommits } from './sqlite/commits.js';
import type { SqliteConnection } from './sqlite/transaction.js';
import { type MeasuredPool, PoolMetrics } from './statements/db-metrics.js';
import { watchStatements } from './statements/sql-spans.js';
import type { Table, Values } from './plain/table.js';
import { syncFile, type SyncFile, WalSync } from './sqlite/wal-sync.js';
import { WriteProbe, writeRow } from './write-probe.js';

export type { Engine };

/** Options of a plain transaction. */
interface PlainOptions<T> extends TransactionOptions {
  /** Called with the result once it is committed, when others can see it but a power failure may still undo it. */
  readonly onApplied?: ((result: T) => void) | undefined;
}

/** Options of `openDatabase`. */
export interface DatabaseOptions extends MysqlOptions {
  /** Syncs the log of a SQLite file; replaced by tests. */
  readonly syncFile?: SyncFile;
  /** Called when a sync of a SQLite file has failed. Every later statement fails, so the process must be restarted. */
  readonly onSyncFailure?: (error: Error) => void;
  /** The clock by which a commit of a SQLite file waits for more work; replaced by tests. */
  readonly monotonicMs?: () => number;
  /** The url of the user for migrations, if the user of this database may not change the schema. */
  readonly migrationUrl?: string | undefined;
}

/** A service's own database. */
export interface Database {
  readonly engine: Engine;
  /** The path of the SQLite file; undefined on MySQL and in memory. */
  readonly file?: string | undefined;
  /** The url with which migrations connect; undefined: the url of this database. */
  readonly migrationUrl?: string | undefined;
  /**
   * For reads and single statements; on MySQL a statement is retried after deadlocks and lock waits. On SQLite never use it inside
   * `transaction`: the only connection is in use.
   */
  readonly knex: Knex;
  /**
   * Runs `work` in one transaction and commits. After deadlocks, lock waits and lost connections the whole transaction is retried (see
   * retries.ts), so `work` must have no other effects. A SQLite file has one connection in one process, so there transactions run one
   * after another.
   */
  transaction<T>(work: (tx: Knex.Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Like `transaction`, with SQL text instead of knex and at a tenth of the cost, for the work of every call. On SQLite all plain transactions
   * that wait at the same moment share one commit. Resolves once the result is durable, which is some time after it is applied (`onApplied`).
   */
  plainTransaction<T>(work: (tx: PlainTransaction) => Promise<T>, options?: PlainOptions<T>): Promise<T>;
  /**
   * Resolves when the next transaction can begin. A lane that takes its items only then shares that commit with everything else that waits for
   * it. `waiting` returns the number of its items so far; while they increase, a commit of a SQLite file waits a little.
   */
  turn(waiting?: () => number): Promise<void>;
  /**
   * Returns the rows of a SELECT outside of a transaction, without knex's builder, for polling. On SQLite the statement stays prepared, so that
   * an idle process uses almost no CPU.
   */
  query(sql: string, bindings: Bindings): Promise<Row[]>;
  /** Returns the rows of the table that have one of these full keys, in any order, outside of a transaction. Pass at most a few hundred. */
  find(table: Table, keys: readonly Values[]): Promise<Values[]>;
  /** Reports whether a commit of a SQLite file is in progress or awaited, which further transactions can share; false on MySQL. */
  isCommitting(): boolean;
  /** Reports whether transactions can write now. Takes half a second at most, and never raises. False before the schema was migrated. */
  isWritable(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Opens "sqlite:<path>" (":memory:" as path for a temporary database) or "mysql://user:password@host:port/schema" (a path to a
 * Unix socket as ?socketPath=…, the nodes of a cluster as host:port,host:port). Raises invalid_request
 * for any other url.
 */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), options);
  if (url.startsWith('mysql:')) return openMysql(url, options);
  throw new AppError('invalid_request', 'A database URL must begin with "sqlite:" or "mysql:".');
}

function openMysql(url: string, options: DatabaseOptions): Database {
  const { knex, transactions, close } = openMysqlPools(url, options);
  const pool = transactions.client as ConnectionPool;
  const probe = new WriteProbe(() => runOnMysql(pool, writeRow));
  return {
    // With autocommit: a SELECT by itself would otherwise begin a transaction that is never ended.
    ...database('mysql', knex, (work) => readOnMysql(knex.client as ConnectionPool, work), probe),
    migrationUrl: options.migrationUrl,
    // Every committed transaction is durable, so there is no earlier moment to report.
    plainTransaction: (work, options) => retried((trackCommit) => runOnMysql(pool, trackCommit(work)), options, probe.note),
    turn: nextTurn,
    isCommitting: () => false,
    close,
  };
}

function openSqlite(filename: string, options: DatabaseOptions): Database {
  if (filename !== ':memory:') mkdirSync(dirname(filename), { recursive: true });
  let syncsCommits = true;
  const knex = createKnex({
    ...quietKnex,
    client: 'better-sqlite3',
    useNullAsDefault: true,
    connection: { filename, options: { safeIntegers: true } } as Knex.BetterSqlite3ConnectionConfig,
    pool: {
      min: 1,
      max: 1,
      // The one connection is never closed for being idle, so the process is not woken to check for that.
      reapIntervalMillis: 2 ** 31 - 1,
      afterCreate(connection: { pragma(text: string): unknown }, done: (error: Error | null, connection: unknown) => void) {
        connection.pragma('journal_mode = WAL');
        // FULL: an acknowledged commit survives a power failure.
        connection.pragma('synchronous = FULL');
        syncsCommits = true;
        connection.pragma('foreign_keys = ON');
        connection.pragma('busy_timeout = 5000');
        // Otherwise, SQLite writes the undo data of savepoints to a temporary file.
        connection.pragma('temp_store = MEMORY');
        // A checkpoint copies a page once, however often it was written since the previous one, and blocks while it syncs two files.
        connection.pragma('wal_autocheckpoint = 4000');
        done(null, connection);
      },
    },
  });
  const client = knex.client as ConnectionPool;
  const wal = filename === ':memory:' ? undefined : new WalSync(filename, options.syncFile ?? syncFile, options.onSyncFailure);
  const lone = new LoneConnection(client, (knex.client as { pool: MeasuredPool }).pool);
  const pool = new PoolMetrics(basename(filename, '.db'), lone);
  // Every statement takes the connection, so that none runs after a failed sync.
  const acquireAt = async (syncs: boolean): Promise<unknown> => {
    wal?.assertSound();
    const free = lone.takeFree();
    if (free !== undefined) pool.tookFree();
    const connection = (free ?? (await pool.acquire(() => lone.acquire()))) as SqliteConnection;
    // NORMAL omits the sync at a commit, which is all that it changes in WAL mode (sqlite.org/pragma.html#pragma_synchronous). The pragma
    // costs as much as a statement, so the level stays until a connection is needed at the other one.
    if (syncs !== syncsCommits) connection.pragma(`synchronous = ${syncs ? 'FULL' : 'NORMAL'}`);
    syncsCommits = syncs;
    return connection;
  };
  client.acquireConnection = () => acquireAt(true);
  client.releaseConnection = (connection) => lone.release(connection);
  const unsynced: SqlitePool = {
    freeConnection() {
      wal?.assertSound();
      if (lone.free !== undefined) pool.tookFree();
      return lone.free as SqliteConnection | undefined;
    },
    acquireConnection: () => acquireAt(false),
    releaseConnection: (connection) => lone.release(connection),
  };
  // Plain transactions are synced separately (sqlite/commits.ts).
  const commits = new SqliteCommits(unsynced, wal, options.monotonicMs ?? (() => performance.now()));
  const probe = new WriteProbe(() => runUnsynced(unsynced, writeRow));
  return {
    ...database('sqlite', knex, (work) => readOnSqlite(unsynced, work), probe),
    file: filename === ':memory:' ? undefined : filename,
    plainTransaction: (work, { onApplied, ...options } = {}) =>
      retried(
        (trackCommit) =>
          options.mayBeLost === true ? runUnsynced(unsynced, trackCommit(work)) : commits.add(trackCommit(work), onApplied),
        options,
        probe.note,
      ),
    turn: (waiting) => commits.turn(waiting),
    isCommitting: () => commits.isBusy,
    async close() {
      await commits.idle();
      pool.end();
      await lone.close();
      await knex.destroy();
      await wal?.close();
    },
  };
}

function database(
  engine: Engine,
  knex: Knex,
  read: <T>(work: (tx: PlainTransaction) => Promise<T>) => Promise<T>,
  probe: WriteProbe,
): Pick<Database, 'engine' | 'knex' | 'transaction' | 'query' | 'find' | 'isWritable'> {
  watchStatements(knex, engine);
  return {
    engine,
    knex,
    transaction: (work, options) => retried((trackCommit) => runInKnex(knex, trackCommit(work)), options, probe.note),
    query: (sql, bindings) => read((tx) => tx.query(sql, bindings)),
    find: (table, keys) => read((tx) => tx.find(table, keys)),
    isWritable: () => probe.isWritable(),
  };
}

/**
 * Runs `work` in a transaction of knex, and raises the error of `work` itself. A failed statement may have ended the transaction, as on a full
 * disk; knex then fails to roll back, and raises that error instead of the cause.
 */
async function runInKnex<T>(knex: Knex, work: (tx: Knex.Transaction) => Promise<T>): Promise<T> {
  const failures: unknown[] = [];
  const noted = async (tx: Knex.Transaction): Promise<T> => {
    try {
      return await work(tx);
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  try {
    return await knex.transaction(noted);
  } catch (error) {
    throw failures.length === 0 ? error : failures[0];
  }
}
