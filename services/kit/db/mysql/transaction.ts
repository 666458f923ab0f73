// A transaction on a mysql2 connection without autocommit: its first statement begins it. It handles many rows per statement, since each statement is a
// round trip, and sends one awaited statement per command. Galera loses acknowledged transactions when statements are sent as one string; after a
// deadlock (1213) the server has ended the transaction, and statements that were sent without waiting would become part of another one.
import type { Span } from '@opentelemetry/api';
import type { Bindings, EndListener, PlainTransaction, Row } from '../plain/plain-transaction.js';
import { countStatement } from '../statements/db-metrics.js';
import { type ConnectionFacts, endStatement, traceStatement } from '../statements/sql-spans.js';
import type { Table, Values } from '../plain/table.js';

interface MysqlQuery {
  readonly sql: string;
  readonly values: Bindings;
  readonly rowsAsArray?: boolean;
}

/** The part of mysql2 that is used here. */
export interface MysqlConnection extends ConnectionFacts {
  query(query: MysqlQuery, done: (error: Error | null, result: unknown) => void): void;
  destroy(): void;
}

/** See `PlainTransaction`. */
export class MysqlTransaction implements PlainTransaction {
  readonly engine = 'mysql';
  private readonly endListeners: EndListener[] = [];
  private isWaiting = false;
  private firstError: Error | undefined;

  constructor(private readonly connection: MysqlConnection) {}

  async query(sql: string, bindings: Bindings): Promise<Row[]> {
    return (await this.send({ sql, values: bindings })) as Row[];
  }

  async run(sql: string, bindings: Bindings): Promise<number> {
    return ((await this.send({ sql, values: bindings })) as { affectedRows: number }).affectedRows;
  }

  async find(table: Table, keys: readonly Values[]): Promise<Values[]> {
    if (keys.length === 0) return [];
    return (await this.send({ sql: table.selectMany(keys.length), values: keys.flat(), rowsAsArray: true })) as Values[];
  }

  async lock(table: Table, keys: readonly Values[]): Promise<Values[]> {
    if (keys.length === 0) return [];
    return (await this.send({ sql: table.lockMany(keys.length), values: keys.flat(), rowsAsArray: true })) as Values[];
  }

  async insert(table: Table, rows: readonly Values[]): Promise<void> {
    if (rows.length > 0) await this.send({ sql: table.insertMany(rows.length), values: rows.flat() });
  }

  async overwrite(table: Table, rows: readonly Values[]): Promise<void> {
    if (rows.length > 0) await this.send({ sql: table.upsertMany(rows.length), values: rows.flat() });
  }

  onEnd(listener: EndListener): void {
    this.endListeners.push(listener);
  }

  /** Calls the listeners of `onEnd`. */
  end(isCommitted: boolean): void {
    for (const listener of this.endListeners.splice(0)) listener(isCommitted);
  }

  /**
   * Rolls back. When that fails, also because a statement has not returned yet, the transaction may still be open, so the connection is destroyed:
   * the pool drops destroyed connections.
   */
  async abandon(): Promise<void> {
    this.firstError = undefined;
    await this.run('ROLLBACK', []).catch(() => this.connection.destroy());
  }

  private send(query: MysqlQuery): Promise<unknown> {
    if (this.firstError !== undefined) return Promise.reject(this.firstError);
    if (this.isWaiting) {
      this.firstError = new Error('The previous statement has not returned yet: await each statement of a transaction.');
      return Promise.reject(this.firstError);
    }
    this.isWaiting = true;
    const { system = 'mysql' } = this.connection;
    const span: Span | undefined = traceStatement(system, query.sql, this.connection);
    const beganAtMs = performance.now();
    return new Promise((resolve, reject) => {
      this.connection.query(query, (error, result) => {
        countStatement(system, query.sql, beganAtMs, error ?? undefined);
        if (span !== undefined) endStatement(span, error ?? undefined);
        this.isWaiting = false;
        if (error === null) {
          resolve(result);
        } else {
          this.firstError ??= error;
          reject(error);
        }
      });
    });
  }
}
