// A table as plain transactions read and write it: rows as lists of values in column order, found by the full primary key.
// That avoids an object per row and lets the transaction use the engine's fastest method. Pure.
import { insertText, keyedText, type TextOfRows, textOfRows, upsertText } from './sql-text.js';

/** The values of a row, in the table's column order. */
export type Values = readonly unknown[];

/** The columns of a table. */
export interface TableColumns {
  /** The full primary key, in order. */
  readonly key: readonly string[];
  /** Set when the row is created. */
  readonly fixed?: readonly string[];
  /** May be overwritten. */
  readonly changing?: readonly string[];
}

/** A table's name and columns, and the texts of its statements. */
export class Table {
  /** The key columns, then the fixed ones, then the changing ones. */
  readonly columns: readonly string[];
  readonly key: readonly string[];
  readonly changing: readonly string[];
  /** One row by its key. */
  readonly selectOne: string;
  readonly insertOne: string;
  /** Binds the changing values, then the key. */
  readonly updateOne: string;
  readonly selectMany: TextOfRows;
  /** Like `selectMany`, locking the rows in key order. */
  readonly lockMany: TextOfRows;
  readonly insertMany: TextOfRows;
  /** Binds all values of all rows. */
  readonly upsertMany: TextOfRows;

  constructor(
    readonly name: string,
    { key, fixed = [], changing = [] }: TableColumns,
  ) {
    this.columns = [...key, ...fixed, ...changing];
    this.key = key;
    this.changing = changing;
    const select = `SELECT ${this.columns.join(', ')} FROM ${name} WHERE`;
    const oneKey = key.map((column) => `${column} = ?`).join(' AND ');
    const keyed = keyedText(key);
    this.selectOne = `${select} ${oneKey}`;
    this.insertOne = insertText(name, this.columns)(1);
    this.updateOne = `UPDATE ${name} SET ${changing.map((column) => `${column} = ?`).join(', ')} WHERE ${oneKey}`;
    this.selectMany = textOfRows((rows) => `${select} ${keyed(rows)}`);
    this.lockMany = textOfRows((rows) => `${this.selectMany(rows)} ORDER BY ${key.join(', ')} FOR UPDATE`);
    this.insertMany = insertText(name, this.columns);
    this.upsertMany = upsertText('mysql', name, this.columns, key, changing);
  }

  /** Returns the values of a row that was read as an object, in column order. */
  valuesOf(row: Readonly<Record<string, unknown>>): Values {
    return this.columns.map((column) => row[column]);
  }
}
