// Texts of statements on many rows, for plain transactions. They differ only in how many rows they name, so each is made once
// for each number and is then found prepared. Pure.
import type { Engine } from './engine.js';

/** The text for so many rows. */
export type TextOfRows = (rows: number) => string;

/** Remembers the texts that `make` makes. Numbers of rows are bounded by whoever binds them, and so is the memory. */
export function textOfRows(make: TextOfRows): TextOfRows {
  const texts: string[] = [];
  return (rows) => (texts[rows] ??= make(rows));
}

/** INSERT of rows with a value for each column. */
export function insertText(table: string, columns: readonly string[]): TextOfRows {
  const row = `(${columns.map(() => '?').join(', ')})`;
  return textOfRows((rows) => `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${repeated(row, rows, ', ')}`);
}

/** INSERT that overwrites `changed` in rows whose `key` is there already. */
export function upsertText(
  engine: Engine,
  table: string,
  columns: readonly string[],
  key: readonly string[],
  changed: readonly string[],
): TextOfRows {
  const insert = insertText(table, columns);
  const update =
    engine === 'sqlite'
      ? `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${changed.map((column) => `${column} = excluded.${column}`).join(', ')}`
      : `ON DUPLICATE KEY UPDATE ${changed.map((column) => `${column} = VALUES(${column})`).join(', ')}`;
  return textOfRows((rows) => `${insert(rows)} ${update}`);
}

/** INSERT that adds the values of `added` to those of rows whose `key` is there already. */
export function addText(engine: Engine, table: string, key: readonly string[], added: readonly string[]): TextOfRows {
  const insert = insertText(table, [...key, ...added]);
  const update =
    engine === 'sqlite'
      ? `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${added.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`
      : `ON DUPLICATE KEY UPDATE ${added.map((column) => `${column} = ${column} + VALUES(${column})`).join(', ')}`;
  return textOfRows((rows) => `${insert(rows)} ${update}`);
}

/** A condition that holds for rows with one of so many keys: the values of all columns of the first key, then of the next. */
export function keyedText(columns: readonly string[]): TextOfRows {
  const [only] = columns;
  if (columns.length === 1) return textOfRows((rows) => `${only} IN (${repeated('?', rows, ', ')})`);
  const key = `(${columns.map((column) => `${column} = ?`).join(' AND ')})`;
  return textOfRows((rows) => `(${repeated(key, rows, ' OR ')})`);
}

function repeated(text: string, times: number, separator: string): string {
  return Array.from({ length: times }, () => text).join(separator);
}
