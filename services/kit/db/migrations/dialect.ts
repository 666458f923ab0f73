// The SQL that differs between engines: column types and table options. Pure.
import type { Engine } from '../engine.js';

/** Column types and table options of one engine. */
export interface Dialect {
  readonly engine: Engine;
  /** A UUID, or `length` fixed bytes. */
  bytes(length: number): string;
  /** Text of at most `length` characters, compared byte by byte. */
  text(length: number): string;
  /** Text without a practical limit. */
  readonly longText: string;
  /** Bytes, at most 16 MiB. */
  readonly longBytes: string;
  /** Signed 64 bits: money and epoch milliseconds. */
  readonly int64: string;
  /** Signed 32 bits: counts, enums, booleans. */
  readonly int32: string;
  /** Follows the closing parenthesis of CREATE TABLE. */
  readonly tableOptions: string;
}

const sqlite: Dialect = {
  engine: 'sqlite',
  bytes: () => 'BLOB',
  text: () => 'TEXT',
  longText: 'TEXT',
  longBytes: 'BLOB',
  int64: 'INTEGER',
  int32: 'INTEGER',
  // Without STRICT an integer overflow silently becomes a float. WITHOUT ROWID stores the rows in the primary key's tree, as InnoDB does,
  // instead of a separate one: half as many pages to read, and to write and sync at a commit.
  tableOptions: 'STRICT, WITHOUT ROWID',
};

const mysql: Dialect = {
  engine: 'mysql',
  bytes: (length) => `BINARY(${length})`,
  text: (length) => `VARCHAR(${length})`,
  longText: 'MEDIUMTEXT',
  longBytes: 'MEDIUMBLOB',
  int64: 'BIGINT',
  int32: 'INT',
  tableOptions: 'ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
};

/** The dialect of each engine. */
export const dialects = { sqlite, mysql } as const satisfies Record<Engine, Dialect>;
