// Brings a service's own schema up to date. Migrations are plain SQL with the few type names that differ between engines.
import type { Knex } from 'knex';
import type { Database, Engine } from './open.js';

/** The spelling of column types and table options on one engine. */
export interface Dialect {
  readonly engine: Engine;
  /** A UUID, or `length` fixed bytes. */
  bytes(length: number): string;
  /** Text of at most `length` characters, compared byte by byte. */
  text(length: number): string;
  /** Text without a practical bound. */
  readonly longText: string;
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
  int64: 'BIGINT',
  int32: 'INT',
  tableOptions: 'ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
};

/** One step of a schema. Once released it is never changed; code must run both before and after it. */
export interface Migration {
  /** Sorts by its number, for example "0001-keys". */
  readonly name: string;
  /** The statements, each awaited before the next. */
  statements(dialect: Dialect): readonly string[];
}

/** Applies what is missing, in order. Replicas that start together wait for each other. Returns the names applied now. */
export async function migrate(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  const dialect = db.engine === 'sqlite' ? sqlite : mysql;
  const apply = async (knex: Knex): Promise<string[]> => {
    await knex.raw(
      `CREATE TABLE IF NOT EXISTS schema_migration (name ${dialect.text(100)} NOT NULL PRIMARY KEY) ${dialect.tableOptions}`,
    );
    const done = new Set((await knex('schema_migration').select('name')).map((row: { name: string }) => row.name));
    const applied: string[] = [];
    for (const migration of migrations) {
      if (done.has(migration.name)) continue;
      for (const statement of migration.statements(dialect)) await knex.raw(statement);
      await knex('schema_migration').insert({ name: migration.name });
      applied.push(migration.name);
    }
    return applied;
  };
  if (db.engine === 'sqlite') return db.transaction(apply);
  // MySQL commits before each DDL statement, so a named lock on one connection keeps replicas apart instead of a transaction.
  return db.knex.transaction(async (connection) => {
    await connection.raw("SELECT GET_LOCK(CONCAT(DATABASE(), '.migrate'), 60)");
    try {
      return await apply(connection);
    } finally {
      await connection.raw("SELECT RELEASE_LOCK(CONCAT(DATABASE(), '.migrate'))");
    }
  });
}
