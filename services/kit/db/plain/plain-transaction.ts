// Transactions of plain SQL text, directly on the driver, for the work of every call. Knex's builder and its transactions cost
// several times as much as the database itself (on SQLite, an empty transaction through knex takes as long as eighty prepared
// statements).
import type { Engine } from '../engine.js';
import type { Table, Values } from './table.js';

/** A row as the driver returns it; read its values with `values.ts`. */
export type Row = Readonly<Record<string, unknown>>;

/** Values for the placeholders of a statement, in order. */
export type Bindings = readonly unknown[];

/**
 * An open transaction. It runs one statement at a time: a statement that begins before the previous one has returned fails the transaction.
 * After the first failure every later statement fails with the same error and is not sent, because the server may have ended the
 * transaction and would commit what follows by itself.
 */
export interface PlainTransaction {
  readonly engine: Engine;
  /** Returns the rows of a SELECT. */
  query(sql: string, bindings: Bindings): Promise<Row[]>;
  /** Runs any other statement and returns how many rows it matched. */
  run(sql: string, bindings: Bindings): Promise<number>;
  /** Returns the rows of the table that have one of these full keys, in any order. */
  find(table: Table, keys: readonly Values[]): Promise<Values[]>;
  /** Like `find`, and locks the rows until the transaction ends. Pass the keys in order. */
  lock(table: Table, keys: readonly Values[]): Promise<Values[]>;
  /** Inserts rows, given by all of their values. Raises the driver's duplicate error when a key exists. */
  insert(table: Table, rows: readonly Values[]): Promise<void>;
  /** Updates the changing columns of existing rows, given by all of their values. */
  overwrite(table: Table, rows: readonly Values[]): Promise<void>;
  /** Calls the listener as soon as the transaction is committed or rolled back, before another transaction of its connection begins. */
  onEnd(listener: EndListener): void;
}

/** Receives whether a transaction was committed. */
export type EndListener = (isCommitted: boolean) => void;
