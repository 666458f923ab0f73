// A transaction on better-sqlite3, whose calls block. It handles rows one by one with prepared statements, which costs less than statements on
// many rows.
import type { Bindings, EndListener, PlainTransaction, Row } from '../plain/plain-transaction.js';
import { countStatement } from '../statements/db-metrics.js';
import { type ConnectionFacts, endStatement, traceStatement } from '../statements/sql-spans.js';
import type { Table, Values } from '../plain/table.js';

interface SqliteStatement {
  all(bindings: Bindings): Row[];
  get(bindings: Bindings): unknown;
  run(bindings: Bindings): { changes: number };
  /** Makes `get` return the values of a row in place of an object. */
  raw(on: boolean): SqliteStatement;
}

/** The part of better-sqlite3 that is used here. */
export interface SqliteConnection extends ConnectionFacts {
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  pragma(text: string): unknown;
}

/** Maximum number of cached prepared statements; texts differ by their number of rows, and few numbers are frequent. */
const preparedMax = 500;

/** The prepared statements of one connection. */
class Prepared {
  private readonly texts = new Map<string, SqliteStatement>();
  private readonly tables = new Map<
    Table,
    { readonly select: SqliteStatement; readonly insert: SqliteStatement; readonly update: SqliteStatement | undefined }
  >();

  constructor(private readonly connection: SqliteConnection) {}

  text(sql: string): SqliteStatement {
    const known = this.texts.get(sql);
    if (known !== undefined) return known;
    if (this.texts.size >= preparedMax) this.texts.delete(this.texts.keys().next().value!);
    const statement = this.connection.prepare(sql);
    this.texts.set(sql, statement);
    return statement;
  }

  /** The code names a fixed number of tables, so these need no limit. */
  table(table: Table) {
    const known = this.tables.get(table);
    if (known !== undefined) return known;
    const statements = {
      select: this.connection.prepare(table.selectOne).raw(true),
      insert: this.connection.prepare(table.insertOne),
      update: table.changing.length === 0 ? undefined : this.connection.prepare(table.updateOne),
    };
    this.tables.set(table, statements);
    return statements;
  }
}

const preparedOf = new WeakMap<SqliteConnection, Prepared>();

const limit = ' LIMIT ?';

/** Writes the limit at the end into the text: a statement whose plan may depend on a bound limit is prepared again whenever it is bound. */
function withPlainLimit(sql: string, bindings: Bindings): [string, Bindings] {
  const rows = bindings.at(-1);
  if (typeof rows !== 'number' || !Number.isSafeInteger(rows) || !sql.endsWith(limit)) return [sql, bindings];
  return [`${sql.slice(0, -1)}${rows}`, bindings.slice(0, -1)];
}

/** See `PlainTransaction`. Its statements cannot overlap: each has finished when its call returns. */
export class SqliteTransaction implements PlainTransaction {
  readonly engine = 'sqlite';
  /** Whether a statement may have changed something. */
  hasWritten = false;
  private readonly endListeners: EndListener[] = [];
  private readonly prepared: Prepared;
  private firstError: unknown;

  constructor(private readonly connection: SqliteConnection) {
    this.prepared = preparedOf.get(connection) ?? new Prepared(connection);
    preparedOf.set(connection, this.prepared);
  }

  /** Takes the write lock immediately: a transaction that has read before another one wrote could no longer begin to write. */
  async begin(): Promise<void> {
    await this.control('BEGIN IMMEDIATE');
  }

  /** Runs a statement that begins, ends or divides the transaction. */
  async control(sql: string): Promise<void> {
    this.execute(sql, () => this.prepared.text(sql).run([]));
  }

  /** Raises the error of the first statement that failed, even if its caller caught it. */
  assertNoFailure(): void {
    if (this.firstError !== undefined) throw this.firstError;
  }

  async query(sql: string, bindings: Bindings): Promise<Row[]> {
    const [text, bound] = withPlainLimit(sql, bindings);
    return this.execute(text, () => this.prepared.text(text).all(bound));
  }

  async run(sql: string, bindings: Bindings): Promise<number> {
    this.hasWritten = true;
    return this.execute(sql, () => this.prepared.text(sql).run(bindings).changes);
  }

  async find(table: Table, keys: readonly Values[]): Promise<Values[]> {
    return this.execute(
      table.selectOne,
      () => {
        const { select } = this.prepared.table(table);
        const rows: Values[] = [];
        for (const key of keys) {
          const row = select.get(key);
          if (row !== undefined) rows.push(row as Values);
        }
        return rows;
      },
      keys.length,
    );
  }

  /** A transaction has the file to itself, so nothing needs locking. */
  lock(table: Table, keys: readonly Values[]): Promise<Values[]> {
    return this.find(table, keys);
  }

  async insert(table: Table, rows: readonly Values[]): Promise<void> {
    if (rows.length === 0) return;
    this.hasWritten = true;
    this.execute(
      table.insertOne,
      () => {
        const { insert } = this.prepared.table(table);
        for (const row of rows) insert.run(row);
      },
      rows.length,
    );
  }

  async overwrite(table: Table, rows: readonly Values[]): Promise<void> {
    if (rows.length === 0) return;
    this.hasWritten = true;
    this.execute(
      table.updateOne,
      () => {
        const { update } = this.prepared.table(table);
        const changingFrom = table.columns.length - table.changing.length;
        for (const row of rows) update!.run([...row.slice(changingFrom), ...row.slice(0, table.key.length)]);
      },
      rows.length,
    );
  }

  onEnd(listener: EndListener): void {
    this.endListeners.push(listener);
  }

  /** Calls the listeners of `onEnd`. */
  end(isCommitted: boolean): void {
    for (const listener of this.endListeners.splice(0)) listener(isCommitted);
  }

  /** Rolls back. */
  async abandon(): Promise<void> {
    // Some errors end a transaction by themselves.
    if (this.connection.inTransaction) this.prepared.text('ROLLBACK').run([]);
  }

  private execute<T>(sql: string, statement: () => T, times = 1): T {
    this.assertNoFailure();
    const span = traceStatement('sqlite', sql, this.connection, times);
    const beganAtMs = performance.now();
    try {
      const result = statement();
      countStatement('sqlite', sql, beganAtMs);
      if (span !== undefined) endStatement(span);
      return result;
    } catch (error) {
      this.firstError = error;
      countStatement('sqlite', sql, beganAtMs, error);
      if (span !== undefined) endStatement(span, error);
      throw error;
    }
  }
}
