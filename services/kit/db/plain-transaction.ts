// Transactions of plain SQL text, straight on the driver: for what every call does. Knex's builder and its transactions cost
// several times what the database itself does (on SQLite, an empty transaction through knex takes as long as eighty prepared
// statements).
import type { Engine } from './engine.js';
import type { Table, Values } from './table.js';

/** A row as the driver gives it; read its values by `values.ts`. */
export type Row = Readonly<Record<string, unknown>>;

/** Values for the placeholders of a statement, in their order. */
export type Bindings = readonly unknown[];

/**
 * An open transaction. One statement at a time: the next may begin when the one before was answered, or the transaction fails. After the
 * first that failed every other one fails with the same error and is not sent, for the server may have left the transaction with the
 * error and would commit what follows by itself.
 */
export interface PlainTransaction {
  readonly engine: Engine;
  /** The rows of a SELECT. */
  query(sql: string, bindings: Bindings): Promise<Row[]>;
  /** Runs any other statement; how many rows it matched. */
  run(sql: string, bindings: Bindings): Promise<number>;
  /** Those rows of the table that have one of these whole keys, in any order. */
  find(table: Table, keys: readonly Values[]): Promise<Values[]>;
  /** The same, and nobody else can lock or change them until the transaction ends. Give the keys in their order. */
  lock(table: Table, keys: readonly Values[]): Promise<Values[]>;
  /** Adds rows, given by all of their values. Raises the driver's duplicate error when a key is there already. */
  insert(table: Table, rows: readonly Values[]): Promise<void>;
  /** Overwrites what changes in rows that are there, given by all of their values. */
  overwrite(table: Table, rows: readonly Values[]): Promise<void>;
}
