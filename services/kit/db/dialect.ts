// How the engines spell what tables are made of. Pure.
import type { Engine } from './engine.js';

/** The spelling of column types and table options on one engine. */
export interface Dialect {
  readonly engine: Engine;
  /** A UUID, or `length` fixed bytes. */
  bytes(length: number): string;
  /** Text of at most `length` characters, compared byte by byte. */
  text(length: number): string;
  /** Text without a practical bound. */
  readonly longText: string;
  /** Bytes, at most 16 MiB of them. */
  readonly longBytes: string;
  /** Signed 64 bits: money and epoch milliseconds. */
  readonly int64: string;
  /** Signed 32 bits: counts, enums, booleans. */
  readonly int32: string;
  /** Goes behind the closing parenthesis of CREATE TABLE. */
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
  // Without STRICT an integer overflow silently becomes a float. WITHOUT ROWID the rows are in the primary key, as InnoDB has them,
  // not beside it: half the pages to read, and to write and sync at a commit.
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

/** The spelling of each engine. */
export const dialects = { sqlite, mysql } as const satisfies Record<Engine, Dialect>;
