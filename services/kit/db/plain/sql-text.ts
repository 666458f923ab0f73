// SQL for statements on many rows, for plain transactions. The texts differ only in their number of rows, so each is built once
// per number and then found prepared. Pure.
import type { Engine } from '../engine.js';

/** Returns the text for this many rows. */
export type TextOfRows = (rows: number) => string;

/** Caches the texts that `make` returns. Callers limit the number of rows, and with it the size of the cache. */
export function textOfRows(make: TextOfRows): TextOfRows {
  const texts: string[] = [];
  return (rows) => (texts[rows] ??= make(rows));
}

/** Returns an INSERT of rows with a value for each column. */
export function insertText(table: string, columns: readonly string[]): TextOfRows {
  const row = `(${columns.map(() => '?').join(', ')})`;
  return textOfRows((rows) => `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${repeated(row, rows, ', ')}`);
}

/** Returns an INSERT that overwrites `changed` in rows whose `key` exists. */
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

/** Returns an INSERT that adds the values of `added` to those of rows whose `key` exists. */
export function addText(engine: Engine, table: string, key: readonly string[], added: readonly string[]): TextOfRows {
  const insert = insertText(table, [...key, ...added]);
  const update =
    engine === 'sqlite'
      ? `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${added.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`
      : `ON DUPLICATE KEY UPDATE ${added.map((column) => `${column} = ${column} + VALUES(${column})`).join(', ')}`;
  return textOfRows((rows) => `${insert(rows)} ${update}`);
}

/** Returns a condition that matches rows with one of this many keys. Bind all columns of the first key, then of the next. */
export function keyedText(columns: readonly string[]): TextOfRows {
  const [only] = columns;
  if (columns.length === 1) return textOfRows((rows) => `${only} IN (${repeated('?', rows, ', ')})`);
  const key = `(${columns.map((column) => `${column} = ?`).join(' AND ')})`;
  return textOfRows((rows) => `(${repeated(key, rows, ' OR ')})`);
}

function repeated(text: string, times: number, separator: string): string {
  return Array.from({ length: times }, () => text).join(separator);
}
