// Transactions of plain SQL text, straight on the driver: for what every call does. Knex's builder and its transactions cost
// several times what the database itself does (on SQLite, an empty transaction through knex takes as long as eighty prepared
// statements).
import type { Span } from '@opentelemetry/api';
import type { Engine } from './engine.js';
import { endStatement, traceStatement } from './sql-spans.js';

/** A row as the driver gives it; read its values by `values.ts`. */
export type Row = Readonly<Record<string, unknown>>;

/** Values for the placeholders of a statement, in their order. */
export type Bindings = readonly unknown[];

/** An open transaction. Statements are awaited one by one. */
export interface PlainTransaction {
  readonly engine: Engine;
  /** The rows of a SELECT. */
  query(sql: string, bindings: Bindings): Promise<Row[]>;
  /** Runs any other statement; how many rows it matched. */
  run(sql: string, bindings: Bindings): Promise<number>;
}

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
    await tx.run('BEGIN', []);
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

interface SqliteStatement {
  all(bindings: Bindings): Row[];
  run(bindings: Bindings): { changes: number };
}

/** What is used of better-sqlite3. */
interface SqliteConnection {
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
}

/** Statements kept prepared; texts differ by their number of rows, and few of those are frequent. */
const preparedMax = 500;
const prepared = new WeakMap<SqliteConnection, Map<string, SqliteStatement>>();

class SqliteTransaction implements PlainTransaction {
  readonly engine = 'sqlite';
  private readonly statements: Map<string, SqliteStatement>;

  constructor(private readonly connection: SqliteConnection) {
    this.statements = prepared.get(connection) ?? new Map();
    prepared.set(connection, this.statements);
  }

  async query(sql: string, bindings: Bindings): Promise<Row[]> {
    return this.traced(sql, () => this.prepare(sql).all(bindings));
  }

  async run(sql: string, bindings: Bindings): Promise<number> {
    return this.traced(sql, () => this.prepare(sql).run(bindings).changes);
  }

  async abandon(): Promise<void> {
    // Some errors end a transaction by themselves.
    if (this.connection.inTransaction) await this.run('ROLLBACK', []);
  }

  private prepare(sql: string): SqliteStatement {
    const known = this.statements.get(sql);
    if (known !== undefined) return known;
    if (this.statements.size >= preparedMax) this.statements.delete(this.statements.keys().next().value!);
    const statement = this.connection.prepare(sql);
    this.statements.set(sql, statement);
    return statement;
  }

  private traced<T>(sql: string, execute: () => T): T {
    const span = traceStatement('sqlite', sql);
    if (span === undefined) return execute();
    try {
      const result = execute();
      endStatement(span);
      return result;
    } catch (error) {
      endStatement(span, error);
      throw error;
    }
  }
}

/** What is used of mysql2. */
interface MysqlConnection {
  query(sql: string, bindings: Bindings, done: (error: Error | null, result: unknown) => void): void;
  destroy(): void;
}

class MysqlTransaction implements PlainTransaction {
  readonly engine = 'mysql';

  constructor(private readonly connection: MysqlConnection) {}

  async query(sql: string, bindings: Bindings): Promise<Row[]> {
    return (await this.send(sql, bindings)) as Row[];
  }

  async run(sql: string, bindings: Bindings): Promise<number> {
    return ((await this.send(sql, bindings)) as { affectedRows: number }).affectedRows;
  }

  async abandon(): Promise<void> {
    // What cannot be rolled back may still be open, so nobody else must get this connection: the pool drops what is destroyed.
    await this.run('ROLLBACK', []).catch(() => this.connection.destroy());
  }

  private send(sql: string, bindings: Bindings): Promise<unknown> {
    const span: Span | undefined = traceStatement('mysql', sql);
    return new Promise((resolve, reject) => {
      this.connection.query(sql, bindings, (error, result) => {
        if (span !== undefined) endStatement(span, error ?? undefined);
        if (error === null) resolve(result);
        else reject(error);
      });
    });
  }
}
